// A table whose newest rows are fetched again and again, often while one of them is under way; older ones on demand.
import { byId, h, headRow, icon, setText } from "../core/dom.js";
import { dateTime, relative, time } from "../core/format.js";
import { fill, gettext } from "../core/text.js";
import { toast } from "../core/toast.js";

const LIVE_MS = 1000;
const CALM_MS = 5000;

export class LiveList {
  /** `ask(query)`: the list from the API, its rows under `name`. `Row`: has an `element`, and `update(item, now)`.
      `columns`: of [title, class]. `empty`: an icon, a title and a text. `shown(list)`: after every answer. */
  constructor({ ask, name, Row, isLive, label, columns, empty, params = () => ({}), shown = (_list) => {} }) {
    this.ask = ask;
    /** @type {Record<string, any>} */
    this.list = { [name]: [], next: null, as_of_ms: null };
    this.name = name;
    this.Row = Row;
    this.isLive = isLive;
    this.params = params;
    this.shown = shown;
    /** @type {any[]} */
    this.older = [];
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
    this.load();
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
      setText(this.asOf, `${problem.message} ${this.age()}`);
      this.again();
    }
  }

  /** Rows that new ones pushed out of the first page stay, where older ones follow them. */
  follow(found) {
    if (this.older.length > 0) {
      const rows = found[this.name];
      const ids = new Set(rows.map((item) => item.id));
      const last = rows.at(-1)?.created_ms ?? 0;
      const pushed = this.list[this.name].filter((item) => !ids.has(item.id) && item.created_ms <= last);
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
      this.older = [...this.older, ...found[this.name]];
      this.list.next = found.next;
      this.show();
    } catch (problem) {
      toast(problem.message, "error");
    }
  }

  again() {
    clearTimeout(this.timer);
    const wait = this.list[this.name].some(this.isLive) ? LIVE_MS : CALM_MS;
    this.timer = setTimeout(() => (document.hidden ? this.again() : this.load()), wait);
  }

  age() {
    return fill(gettext("as of %(time)s"), { time: time(this.list.as_of_ms) });
  }

  all() {
    const newest = new Set(this.list[this.name].map((item) => item.id));
    return [...this.list[this.name], ...this.older.filter((item) => !newest.has(item.id))];
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
      if (!this.rows.has(item.id)) this.rows.set(item.id, new this.Row(item));
      const { element } = this.rows.get(item.id);
      if (this.body.children[at] !== element) this.body.insertBefore(element, this.body.children[at] ?? null);
      this.rows.get(item.id).update(item, this.list.as_of_ms);
    });
    this.shown(this.list);
    this.again();
  }
}

/** The first cell: what it is, and of what. */
export function nameCell(address, title, detail) {
  return h(
    "th",
    { scope: "row", class: "rc-operation-name" },
    h("a", { class: "rc-topic-link", href: address }, title),
    h("div", { class: "rc-muted rc-operation-query" }, detail),
  );
}

/** Says how long ago something began, and exactly when on hover. */
export function showStart(element, item, now) {
  const at = item.started_ms ?? item.created_ms;
  setText(element, relative(at, now));
  element.title = dateTime(at);
}
