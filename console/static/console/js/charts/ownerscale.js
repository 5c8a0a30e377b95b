// Owners as colours: one each, by name, listed in the legend; nobody is grey.
import { h } from "../core/dom.js";
import { count } from "../core/format.js";
import { fill, gettext } from "../core/text.js";
import { color } from "../core/theme.js";
import { ownerColor } from "./ownercolors.js";

const LEGEND_MOST = 12;

export class OwnerScale {
  constructor(/** @type {{ names: string[], of: number[] } | null} */ owners) {
    this.names = owners?.names ?? [];
    this.of = owners?.of ?? [];
    this.top = `${this.names.join(" ")} ${this.of.join(" ")}`;
  }

  /** Step 0 is nobody; worker i has step i + 1. */
  step(/** @type {number | null} */ place) {
    return (place ?? -1) + 1;
  }

  colors() {
    return [color("--rc-heat-0"), ...this.names.map((_, place) => this.color(place))];
  }

  color(/** @type {number} */ place) {
    return ownerColor(this.names[place]);
  }

  word(/** @type {number} */ place) {
    return this.names[place] ?? gettext("nobody");
  }

  legend() {
    /** @type {Map<number, number>} */
    const numbers = new Map();
    for (const place of this.of) numbers.set(place, (numbers.get(place) ?? 0) + 1);
    const places = [...this.names.keys()].slice(0, LEGEND_MOST);
    if (numbers.has(-1)) places.push(-1);
    const lines = places.map((place) => {
      const mark = h("i", { class: "rc-heat-step rc-heat-step-0", "aria-hidden": "true" });
      if (place >= 0) mark.style.background = this.color(place);
      return h("span", {}, mark, `${this.word(place)} (${count(numbers.get(place) ?? 0)})`);
    });
    const left = this.names.length - LEGEND_MOST;
    return left > 0 ? [...lines, h("span", {}, fill(gettext("and %(n)s more"), { n: count(left) }))] : lines;
  }
}
