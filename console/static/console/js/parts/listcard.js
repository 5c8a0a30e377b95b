// A card on a topic's page with a list that is asked for: hidden where there is nothing, drawn anew where it has changed.
import { get } from "../core/api.js";
import { h, headRow, refill, setText } from "../core/dom.js";
import { messageOf } from "../core/text.js";

/** @template T */
export class ListCard {
  /**
   * @param {string} path
   * @param {string} look
   * @param {string} label
   * @param {Parameters<typeof headRow>[0]} titles
   */
  constructor(path, look, label, titles) {
    this.path = path;
    this.shown = "";
    this.body = h("tbody");
    this.title = h("h3", {});
    this.element = h(
      "section",
      { class: `rc-card rc-flush ${look}`, hidden: true, "aria-label": label },
      h("div", { class: "rc-card-title" }, this.title),
      h("div", { class: "rc-scroll" }, h("table", { class: "rc-table rc-blocks" }, headRow(titles), this.body)),
    );
  }

  async load() {
    try {
      this.show(await get(this.path));
    } catch (problem) {
      this.element.hidden = false;
      setText(this.title, messageOf(problem));
    }
  }

  /** What was found. */
  show(/** @type {any} */ _found) {}

  /**
   * @param {string} title
   * @param {T[]} rows
   */
  list(title, rows) {
    this.element.hidden = !rows.length;
    setText(this.title, title);
    const text = JSON.stringify(rows);
    if (text === this.shown) return;
    this.shown = text;
    refill(
      this.body,
      rows.map((row) => this.line(row)),
    );
  }

  /**
   * A row of the table.
   * @param {T} _row
   * @returns {HTMLElement}
   */
  line(_row) {
    return h("tr");
  }
}
