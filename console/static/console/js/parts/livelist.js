// A table whose newest rows are fetched again and again, often while one of them is under way; older ones on demand.
import { byId, h, headRow, icon, setText } from "../core/dom.js";
import { dateTime, relative, time } from "../core/format.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { toast } from "../core/toast.js";

const LIVE_MS = 1000;
const CALM_MS = 5000;

/** @typedef {{ id: string | number, created_ms?: number }} Any */
/** @template Item @typedef {{ rows: Item[], next: string | null, as_of_ms: number }} List */
/** @template Item @typedef {{ element: HTMLElement, update: (item: Item, now: number) => void }} Drawn */

/** @template {Any} Item */
export class LiveList {
  /**
   * @param {object} about
   * @param {(query: Record<string, any>) => Promise<List<Item>>} about.ask for rows
   * @param {new (item: Item) => Drawn<Item>} about.Row
   * @param {(item: Item) => boolean} about.isLive
   * @param {string} about.label
   * @param {[string, string?][]} about.columns [title, class]
   * @param {[string, string, string]} about.empty an icon, a title and a text
   * @param {() => Record<string, any>} [about.params]
   * @param {() => void} [about.shown] after every answer
   */
  constructor({ ask, Row, isLive, label, columns, empty, params = () => ({}), shown = () => {} }) {
    this.ask = ask;
    /** @type {List<Item>} */
    this.list = { rows: [], next: null, as_of_ms: 0 };
    this.Row = Row;
    this.isLive = isLive;
    this.params = params;
    this.shown = shown;
    /** @type {Item[]} */
    this.older = [];
    /** @type {Map<Item["id"], Drawn<Item>>} */
    this.rows = new Map();
    this.timer = 0;
    this.turn = 0;
    this.asOf = h("span", { class: "rc-as-of" });
    this.body = h("tbody");
    const onclick = () => this.loadMore();
    const more = h("button", { type: "button", class: "rc-button", onclick }, gettext("Load more"));
    this.more = h("div", { class: "rc-more" }, more);
    const [symbol, title, text] = empty;
    this.nothing = h("div", { class: "rc-empty" }, icon(symbol), h("h2", {}, title), h("p", {}, text));
    this.scroll = h(
      "div",
      { class: "rc-scroll" },
      h("table", { class: "rc-table rc-operations" }, headRow(columns), this.body),
    );
    const parts = [this.scroll, this.nothing, this.more];
    for (const part of parts) part.hidden = true;
    this.element = h("section", { class: "rc-card rc-flush", "aria-label": label }, parts);
    /** Over after the first answer, or failure. */
    this.first = this.load();
  }

  /** Other rows are asked for from now on. */
  restart() {
    this.turn += 1;
    this.older = [];
    return this.load();
  }

  async load() {
    clearTimeout(this.timer);
    const turn = this.turn;
    const box = byId("rc-page");
    try {
      const found = await this.ask(this.params());
      if (turn !== this.turn) return;
      this.follow(found);
      box.classList.remove("rc-stale");
      this.show();
    } catch (problem) {
      if (turn !== this.turn) return;
      box.classList.add("rc-stale");
      setText(this.asOf, `${messageOf(problem)} ${this.age()}`);
      this.again();
    }
  }

  /** Rows that new ones pushed out of the first page stay, where older ones follow them. */
  follow(/** @type {List<Item>} */ found) {
    if (this.older.length > 0) {
      const ids = new Set(found.rows.map((item) => item.id));
      const last = found.rows.at(-1)?.created_ms ?? 0;
      const pushed = this.list.rows.filter((item) => !ids.has(item.id) && (item.created_ms ?? Infinity) <= last);
      this.older = [...pushed, ...this.older];
      found.next = this.list.next;
    }
    this.list = found;
  }

  async loadMore() {
    const turn = this.turn;
    try {
      const found = await this.ask({ ...this.params(), cursor: this.list.next });
      if (turn !== this.turn) return;
      this.older = [...this.older, ...found.rows];
      this.list.next = found.next;
      this.show();
    } catch (problem) {
      toast(messageOf(problem), "error");
    }
  }

  again() {
    clearTimeout(this.timer);
    const wait = this.list.rows.some(this.isLive) ? LIVE_MS : CALM_MS;
    this.timer = setTimeout(() => (document.hidden ? this.again() : this.load()), wait);
  }

  age() {
    return fill(gettext("as of %(time)s"), { time: time(this.list.as_of_ms) });
  }

  all() {
    const newest = new Set(this.list.rows.map((item) => item.id));
    return [...this.list.rows, ...this.older.filter((item) => !newest.has(item.id))];
  }

  show() {
    setText(this.asOf, this.age());
    const all = this.all();
    this.nothing.hidden = all.length > 0;
    this.scroll.hidden = all.length === 0;
    this.more.hidden = this.list.next === null;
    const ids = new Set(all.map((item) => item.id));
    for (const [id, row] of this.rows)
      if (!ids.has(id)) {
        row.element.remove();
        this.rows.delete(id);
      }
    all.forEach((item, at) => {
      const row = this.rows.get(item.id) ?? new this.Row(item);
      this.rows.set(item.id, row);
      if (this.body.children[at] !== row.element) this.body.insertBefore(row.element, this.body.children[at] ?? null);
      row.update(item, this.list.as_of_ms);
    });
    this.shown();
    this.again();
  }
}

/**
 * The first cell: what it is, and of what.
 * @param {string} address
 * @param {string} title
 * @param {string} detail
 */
export function nameCell(address, title, detail) {
  return h(
    "th",
    { scope: "row", class: "rc-operation-name" },
    h("a", { class: "rc-topic-link", href: address }, title),
    h("div", { class: "rc-muted rc-operation-query" }, detail),
  );
}

/**
 * Says how long ago something began, and exactly when on hover.
 * @param {HTMLElement} element
 * @param {{ created_ms: number, started_ms?: number | null }} item
 * @param {number} now
 */
export function showStart(element, item, now) {
  const at = item.started_ms ?? item.created_ms;
  setText(element, relative(at, now));
  element.title = dateTime(at);
}
