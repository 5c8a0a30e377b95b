// The large numbers on top of a page.
import { h, setClass, setText } from "../core/dom.js";

/** @typedef {[string, string?, boolean?]} Shown */

/** So many letters fit into a tile as large as they are. */
const FITTING = 7;

export class Tile {
  /** `show(values)` returns [text, note, alarming]. */
  constructor(/** @type {string} */ title, /** @type {(values: any) => Shown} */ show) {
    this.show = show;
    this.value = h("dd", { class: "rc-tile-value" }, "–");
    this.note = h("dd", { class: "rc-tile-note" });
    this.element = h("div", { class: "rc-tile" }, h("dt", {}, title), this.value, this.note);
  }

  update(/** @type {any} */ values) {
    const [text, note, alarming] = this.show(values);
    setText(this.value, text);
    setClass(this.value, "rc-long", text.length > FITTING);
    setText(this.note, note ?? "");
    this.note.title = note ?? "";
    setClass(this.element, "rc-alarm", alarming);
  }
}

export function tileRow(/** @type {Tile[]} */ tiles) {
  return h(
    "dl",
    { class: tiles.length > 6 ? "rc-tiles" : "rc-tiles rc-spread" },
    tiles.map((tile) => tile.element),
  );
}
