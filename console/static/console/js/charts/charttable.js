// A chart's numbers as a table. It changes in place, so that the place in it and the focus stay.
import { all, h, setText } from "../core/dom.js";

/** @typedef {[string | number, ...string[]]} Line */

export class ChartTable {
  /**
   * `titles` of its columns, or none; with `onOpen(key)` the first cell of a line is a button.
   * @param {string[]} [titles]
   * @param {((key: string) => void) | null} [onOpen]
   */
  constructor(titles = [], onOpen = /** @type {((key: any) => void) | null} */ (null)) {
    this.onOpen = onOpen;
    this.body = h("tbody");
    const heads = titles.map((title, at) => h("th", { scope: "col", class: at ? "rc-num" : null }, title));
    this.element = h(
      "div",
      { class: "rc-scroll rc-chart-table", tabindex: "0" },
      h("table", { class: "rc-table" }, titles.length ? h("thead", {}, h("tr", {}, heads)) : null, this.body),
    );
  }

  /** `lines`: [[key, text, …numbers as text]]. */
  update(/** @type {Line[]} */ lines) {
    while (this.body.rows.length > lines.length) this.body.deleteRow(-1);
    lines.forEach(([key, ...texts], at) => {
      const row = this.body.rows[at] ?? this.body.appendChild(this.line(texts.length));
      row.dataset.key = String(key);
      for (const [column, text] of texts.entries())
        setText(column ? row.cells[column] : all(row, "[data-name]")[0], text);
    });
  }

  line(/** @type {number} */ columns) {
    const name = this.onOpen
      ? h("button", {
          type: "button",
          class: "rc-link",
          "data-name": "",
          onclick: (/** @type {any} */ event) => this.onOpen?.(event.target.closest("tr").dataset.key),
        })
      : h("span", { "data-name": "" });
    const numbers = Array.from({ length: columns - 1 }, () => h("td", { class: "rc-num" }));
    return h("tr", {}, h("th", { scope: "row" }, name), numbers);
  }
}
