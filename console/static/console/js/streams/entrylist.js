// Entries of a stream, a line each.
import { h, headRow, refill, setText } from "../core/dom.js";
import { bytes, count } from "../core/format.js";
import { gettext } from "../core/text.js";
import { zone } from "../core/zone.js";

export class EntryList {
  /** `onOpen(row)` when one is chosen. */
  constructor(/** @type {(row: Api.EntryRow) => void} */ onOpen) {
    this.onOpen = onOpen;
    /** @type {any[]} */
    this.rows = [];
    this.body = h("tbody");
    this.empty = h("p", { class: "rc-nothing", hidden: true });
    const titles = [
      gettext("Id"),
      gettext("Accepted"),
      [gettext("Slot"), "rc-num"],
      [gettext("Size"), "rc-num rc-less"],
      gettext("Content"),
    ];
    this.element = h(
      "div",
      {},
      h(
        "div",
        { class: "rc-scroll" },
        h("table", { class: "rc-table rc-blocks rc-messages" }, headRow(titles), this.body),
      ),
      this.empty,
    );
  }

  show(/** @type {Api.EntryRow[]} */ rows, /** @type {string} */ emptyWords) {
    this.rows = rows;
    refill(
      this.body,
      rows.map((row) => this.line(row)),
    );
    this.empty.hidden = rows.length > 0;
    setText(this.empty, emptyWords);
  }

  line(/** @type {Api.EntryRow} */ row) {
    const key = `${row.slot}/${row.id}`;
    const open = h(
      "button",
      { type: "button", class: "rc-link rc-mono", dataset: { key }, onclick: () => this.onOpen(row) },
      row.id,
    );
    return h(
      "tr",
      {},
      h("td", { class: "rc-id" }, open),
      h("td", {}, h("time", {}, accepted(row.at_ms))),
      h("td", { class: "rc-num", dataset: { title: gettext("Slot") } }, count(row.slot)),
      h("td", { class: "rc-num rc-less" }, bytes(row.size)),
      h("td", { class: "rc-whole" }, h("div", { class: "rc-clip rc-mono" }, row.preview ?? gettext("hidden"))),
    );
  }
}

const LAST_DATE_MS = 8_640_000_000_000_000;
const clock = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone: zone });

/** When an entry was accepted, by its id; an id that its sender gave need not be a time. */
export function accepted(/** @type {number | string} */ atMs) {
  const ms = Number(atMs);
  return ms > 0 && ms < LAST_DATE_MS ? `${clock.format(ms)}.${String(ms % 1000).padStart(3, "0")}` : "–";
}
