// A list of messages with boxes to tick. Rows keep their place; ticking one stops the refreshing, visibly.
import { all, h, refill, replace, setText } from "../core/dom.js";
import { bytes, count, dateTime, relative, time } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { actionButton } from "../parts/actions.js";
import { ACTIONS_OF, STATES, TIME_TITLES } from "../parts/states.js";
import { redriveButton } from "./redrivedialog.js";

/** @typedef {[string, (row: Api.Row) => any, string?]} Column */

export class MessageList {
  /**
   * `onOpen(row)`; `onChanged()` after an action; `onSelection(number)` when boxes are ticked.
   * @param {{ onOpen: (row: Api.Row) => void, onChanged: () => void, onSelection: (number: number) => void, nowMs: () => number }} acts
   */
  constructor({ onOpen, onChanged, onSelection, nowMs }) {
    this.onOpen = onOpen;
    this.onChanged = onChanged;
    this.onSelection = onSelection;
    this.nowMs = nowMs;
    /** @type {any[]} */
    this.rows = [];
    /** @type {Column[]} */
    this.columns = [];
    this.words = h("strong", {});
    /** @type {Map<string, Api.Row>} */
    this.selected = new Map();
    this.state = "";
    /** Of which state the buttons are. @type {string | null} */
    this.barFor = null;
    this.all = h("input", {
      type: "checkbox",
      "aria-label": gettext("Select all shown"),
      onchange: () => this.selectAll(this.all.checked),
    });
    this.head = h("thead");
    this.body = h("tbody");
    this.bar = h("div", { class: "rc-selection", hidden: true });
    this.empty = h("p", { class: "rc-nothing", hidden: true });
    this.element = h(
      "div",
      {},
      this.bar,
      h("div", { class: "rc-scroll" }, h("table", { class: "rc-table rc-blocks rc-messages" }, this.head, this.body)),
      this.empty,
    );
  }

  /**
   * Show rows of one state; what was ticked and is still there stays ticked.
   * @param {Api.Row[]} rows
   * @param {string} state
   * @param {string} emptyWords
   */
  show(rows, state, emptyWords) {
    if (state !== this.state) {
      this.state = state;
      this.selected.clear();
      this.buildHead();
    }
    this.rows = rows;
    const here = new Set(rows.map(keyOf));
    for (const key of this.selected.keys()) if (!here.has(key)) this.selected.delete(key);
    refill(
      this.body,
      rows.map((row) => this.line(row)),
    );
    this.empty.hidden = rows.length > 0;
    setText(this.empty, emptyWords);
    this.selectionChanged();
  }

  buildHead() {
    const timed = !["ready", "held"].includes(this.state) || page.topic.timed;
    // Of what failed, its error is worth more than these where there is little room.
    const failed = this.state === "dead" || this.state === "retrying";
    const number = failed ? "rc-num rc-less" : "rc-num";
    /** @type {(Column | null)[]} */
    const columns = [
      timed
        ? [TIME_TITLES[this.state], (row) => h("time", { title: dateTime(row.at_ms) }, this.when(row.at_ms))]
        : null,
      this.state === "trash" ? [gettext("Restored to"), (row) => STATES[row.was ?? ""] ?? "–"] : null,
      page.topic.timed ? null : [gettext("Priority"), (row) => count(row.priority), number],
      [gettext("Slot"), (row) => count(row.slot), number],
      this.state === "delayed" ? null : [gettext("Failures"), (row) => failures(row), number],
      [gettext("Size"), (row) => bytes(row.size), "rc-num rc-less"],
      failed
        ? [
            gettext("Error"),
            (row) => h("div", { class: "rc-clip rc-error-text", title: row.error }, row.error ?? "–"),
            "rc-whole",
          ]
        : [
            gettext("Content"),
            (row) => h("div", { class: "rc-clip rc-mono" }, row.preview ?? gettext("hidden")),
            "rc-less",
          ],
    ];
    this.columns = columns.filter((column) => column !== null);
    replace(
      this.head,
      h(
        "tr",
        {},
        h("th", { class: "rc-tick" }, this.all),
        h("th", { scope: "col" }, gettext("Id")),
        this.columns.map(([title, , extra]) => h("th", { scope: "col", class: extra }, title)),
      ),
    );
  }

  line(/** @type {Api.Row} */ row) {
    const key = keyOf(row);
    const box = h("input", {
      type: "checkbox",
      dataset: { key: `${key}#` },
      "aria-label": fill(gettext("Select %(id)s"), { id: row.id ?? "?" }),
      disabled: row.id === null,
      title: row.id === null ? page.grants.actions.cancel : null,
      onchange: () => this.tick(row, box.checked),
    });
    box.checked = this.selected.has(key);
    const open = h(
      "button",
      { type: "button", class: "rc-link rc-mono", dataset: { key }, onclick: () => this.onOpen(row) },
      row.id ?? gettext("(hidden)"),
    );
    return h(
      "tr",
      { class: box.checked ? "rc-selected" : null },
      h("td", { class: "rc-tick" }, box),
      h("td", { class: "rc-id" }, open),
      this.columns.map(([title, cell, extra]) => h("td", { class: extra, dataset: { title } }, cell(row))),
    );
  }

  when(/** @type {number | null} */ ms) {
    if (ms === null) return "–";
    const away = Math.abs(ms - this.nowMs());
    return away < 86_400_000 ? `${relative(ms, this.nowMs())} · ${time(ms)}` : dateTime(ms);
  }

  tick(/** @type {Api.Row} */ row, /** @type {boolean} */ on) {
    if (on) this.selected.set(keyOf(row), row);
    else this.selected.delete(keyOf(row));
    this.selectionChanged();
  }

  selectAll(/** @type {boolean} */ on) {
    for (const row of this.rows) if (row.id !== null) this.tick(row, on);
    /** @type {HTMLInputElement[]} */
    const boxes = all(this.body, "input:not(:disabled)");
    for (const box of boxes) box.checked = on;
  }

  selectionChanged() {
    const number = this.selected.size;
    for (const line of this.body.rows)
      line.classList.toggle("rc-selected", /** @type {any} */ (line.querySelector("input")).checked);
    this.all.checked = number > 0 && number === this.rows.filter((row) => row.id !== null).length;
    this.all.indeterminate = number > 0 && !this.all.checked;
    this.bar.hidden = number === 0;
    this.onSelection(number);
    if (!number) {
      this.barFor = null;
      return;
    }
    if (this.barFor !== this.state) {
      this.barFor = this.state;
      const refs = () => [...this.selected.values()].map((row) => /** @type {Ref} */ ([row.slot, row.id]));
      const now = () => [...this.selected.values()];
      const buttons = ACTIONS_OF[this.state].map((name) => actionButton(name, refs, () => this.clear(true), now));
      if (this.state === "dead") buttons.push(redriveButton(now, () => this.clear(true)));
      const none = h(
        "button",
        { type: "button", class: "rc-button", onclick: () => this.clear(false) },
        gettext("Clear selection"),
      );
      replace(
        this.bar,
        this.words,
        h("span", { class: "rc-muted" }, gettext("Refreshing is paused.")),
        h("span", { class: "rc-actions" }, buttons, none),
      );
    }
    setText(this.words, fill(ngettext("%(n)s selected", "%(n)s selected", number), { n: number }));
  }

  clear(/** @type {boolean} */ changed) {
    this.selected.clear();
    /** @type {HTMLInputElement[]} */
    const boxes = all(this.body, "input");
    for (const box of boxes) box.checked = false;
    this.selectionChanged();
    if (changed) this.onChanged();
  }
}

const keyOf = (/** @type {Api.Row} */ row) => `${row.slot}/${row.id}`;

function failures(/** @type {Api.Row} */ row) {
  return row.retries_left === null
    ? count(row.failures)
    : `${count(row.failures)} / ${count(row.failures + row.retries_left)}`;
}
