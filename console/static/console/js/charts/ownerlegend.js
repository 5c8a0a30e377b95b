// The owners of a picture, with how many slots each has; pressed, one alone is in colour.
import { all, h, replace } from "../core/dom.js";
import { count } from "../core/format.js";
import { fill, gettext } from "../core/text.js";
import { ownerColor, ownerInk, ownerNumber } from "./ownercolors.js";

/** @typedef {import("./courses.js").Stretch} Stretch */

const MOST = 24;

export const ownerWord = (/** @type {string | null} */ owner) => owner ?? gettext("nobody");

export class OwnerLegend {
  /** @param {() => void} onChoose */
  constructor(onChoose) {
    this.onChoose = onChoose;
    /** The owner whose slots alone are in colour. @type {string | null} */
    this.only = null;
    this.shown = "";
    this.element = h("div", { class: "rc-owner-legend", role: "group", "aria-label": gettext("Owners") });
  }

  /**
   * @param {Stretch[][]} courses
   * @param {Map<string | null, number>} numbers slots of each owner
   */
  update(courses, numbers) {
    const owners = new Set(courses.flatMap((course) => course.map(({ owner }) => owner)));
    const names = [...owners].filter((owner) => owner !== null);
    const sorted = names.sort((one, other) => ownerNumber(one) - ownerNumber(other));
    const entries = [...sorted.slice(0, MOST), ...(owners.has(null) ? [null] : [])];
    const key = JSON.stringify([entries.map((owner) => [owner, numbers.get(owner) ?? 0]), sorted.length]);
    if (key === this.shown) return;
    this.shown = key;
    const focused = this.element.contains(document.activeElement)
      ? /** @type {HTMLElement} */ (document.activeElement).dataset.name
      : null;
    const left = sorted.length - MOST;
    replace(
      this.element,
      entries.map((owner) => this.entry(owner, numbers.get(owner) ?? 0)),
      left > 0 ? h("span", {}, fill(gettext("and %(n)s more"), { n: count(left) })) : null,
    );
    this.press();
    if (focused !== null)
      all(this.element, ".rc-owner-entry")
        .find((each) => each.dataset.name === focused)
        ?.focus();
  }

  /**
   * @param {string | null} owner
   * @param {number} n
   */
  entry(owner, n) {
    const words = fill(gettext("%(owner)s (%(n)s)"), { owner: ownerWord(owner), n: count(n) });
    if (owner === null) return h("span", {}, h("i", { class: "rc-owner-nobody", "aria-hidden": "true" }), words);
    const mark = h("i", { class: "rc-owner-mark", "aria-hidden": "true" }, String(ownerNumber(owner)));
    mark.style.background = ownerColor(owner);
    mark.style.color = ownerInk(owner);
    return h(
      "button",
      {
        type: "button",
        class: "rc-owner-entry",
        dataset: { name: owner },
        title: gettext("Show this owner alone"),
        onclick: () => this.choose(owner),
      },
      mark,
      words,
    );
  }

  choose(/** @type {string} */ owner) {
    this.only = this.only === owner ? null : owner;
    this.press();
    this.onChoose();
  }

  press() {
    for (const entry of all(this.element, ".rc-owner-entry"))
      entry.setAttribute("aria-pressed", String(entry.dataset.name === this.only));
  }
}
