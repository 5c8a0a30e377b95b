// A small bar chart out of ordinary elements, with a line to compare with, and the same as a table.
import { h, replace } from "../core/dom.js";
import { count } from "../core/format.js";
import { fill, gettext } from "../core/text.js";
import { ChartTable } from "./charttable.js";
import { tableToggle } from "./tabletoggle.js";

/** @typedef {[string, number, boolean]} Bar */

export class Bars {
  /**
   * @param {string} title
   * @param {{ unit: string, empty: string, note?: HTMLElement | null }} about
   */
  constructor(title, { unit, empty, note = /** @type {HTMLElement | null} */ (null) }) {
    this.unit = unit;
    this.empty = empty;
    this.asTable = false;
    /** @type {ChartTable | null} */
    this.table = null;
    /** What is shown. @type {[Bar[], string, number | null] | null} */
    this.shown = null;
    this.bars = h("div", { class: "rc-bars" });
    replace(this.bars, h("p", { class: "rc-nothing" }, gettext("Loading…")));
    this.note = h("p", { class: "rc-muted rc-bars-note" });
    this.toggle = tableToggle(() => this.switchView());
    this.element = h(
      "section",
      { class: "rc-card", "aria-label": title },
      h("header", {}, h("h2", {}, title), this.toggle),
      this.bars,
      this.note,
      note,
    );
  }

  switchView() {
    this.asTable = !this.asTable;
    this.toggle.setAttribute("aria-pressed", String(this.asTable));
    if (this.shown) this.update(...this.shown);
  }

  /**
   * `values`: [[label, number, show the label]]; `line`: a level drawn across; `note`: a sentence below.
   * @param {Bar[]} values
   * @param {string} [note]
   * @param {number | null} [line]
   */
  update(values, note = "", line = /** @type {number | null} */ (null)) {
    this.shown = [values, note, line];
    this.note.textContent = note;
    const top = Math.max(1, line ?? 0, ...values.map(([, number]) => number));
    if (!values.some(([, number]) => number)) replace(this.bars, h("p", { class: "rc-nothing" }, this.empty));
    else if (this.asTable) this.drawTable(values);
    else
      replace(
        this.bars,
        h(
          "p",
          { class: "rc-bar-top" },
          fill(gettext("largest: %(n)s"), { n: count(Math.max(...values.map(([, number]) => number))) }),
        ),
        this.plot(values, top, line),
      );
  }

  /**
   * @param {Bar[]} values
   * @param {number} top
   * @param {number | null} line
   */
  plot(values, top, line) {
    const columns = values.map(([label, number, shown]) => {
      const height = number ? Math.max(2, (number / top) * 100) : 0;
      const bar = h("div", { class: line !== null && number > line ? "rc-bar rc-bar-over" : "rc-bar" });
      bar.style.height = `${height}%`;
      return h(
        "div",
        { class: "rc-bar-column", title: `${label}: ${count(number)} ${this.unit}` },
        h("div", { class: "rc-bar-space" }, bar),
        h("span", { class: "rc-bar-label" }, shown ? label : ""),
      );
    });
    const plot = h(
      "div",
      {
        class: "rc-bar-plot",
        role: "img",
        "aria-label": values
          .filter(([, number]) => number)
          .map(([label, number]) => `${label}: ${number}`)
          .join(", "),
      },
      columns,
    );
    if (line !== null && line > 0) {
      const level = h("div", { class: "rc-bar-line" });
      level.style.bottom = `calc(1.2rem + (100% - 1.2rem) * ${line / top})`;
      plot.prepend(level);
    }
    return plot;
  }

  drawTable(/** @type {Bar[]} */ values) {
    this.table ??= new ChartTable();
    if (!this.table.element.isConnected) replace(this.bars, this.table.element);
    this.table.update(values.map(([label, number]) => [label, label, count(number)]));
  }
}
