// The table of topics: rows stay where they are and change in place.
import { h, icon, replace, setClass, setText } from "../core/dom.js";
import { count, duration, exact, rate } from "../core/format.js";
import { topicAddress } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { CHIPS } from "./problems.js";
import { heatColors } from "./scale.js";
import { drawSpark } from "./spark.js";
import { drawStrip } from "./strip.js";

export const KINDS = {
  "range-merge": gettext("range merge"),
  priority: gettext("priority"),
  "fixed-time": gettext("fixed time"),
};

// [name, title, text, title text, less important]
const COLUMNS = [
  ["name", gettext("Topic")],
  ["strip", gettext("Slots")],
  ["spark", gettext("Backlog, 15 min")],
  ["backlog", gettext("Backlog"), (t) => count(t.backlog), (t) => exact(t.backlog)],
  ["in_s", gettext("In/s"), (t) => rate(t.in_s)],
  ["out_s", gettext("Out/s"), (t) => rate(t.out_s)],
  ["lag_ms", gettext("Due lag"), (t) => (t.timed ? duration(t.lag_ms) : "–")],
  ["in_flight", gettext("In flight"), (t) => count(t.in_flight), (t) => exact(t.in_flight)],
  ["waiting", gettext("Waiting"), (t) => count(t.waiting), (t) => exact(t.waiting)],
  ["dead", gettext("Dead"), (t) => count(t.dead), (t) => exact(t.dead)],
  ["workers", gettext("Workers"), (t) => count(t.workers)],
];
const NUMERIC = COLUMNS.filter((column) => column[2]);
export const SORTABLE = COLUMNS.map(([name]) => name).filter((name) => name !== "strip" && name !== "spark");

class Row {
  constructor(name, observer) {
    this.visible = true;
    this.name = name;
    this.link = h("a", { href: topicAddress(name), class: "rc-topic-link" }, name);
    this.meta = h("span", { class: "rc-topic-meta" });
    this.strip = h("canvas", { class: "rc-strip", role: "img" });
    this.spark = h("canvas", {
      class: "rc-spark",
      role: "img",
      "aria-label": gettext("Backlog over the last 15 minutes"),
    });
    this.cells = Object.fromEntries(NUMERIC.map(([key]) => [key, h("td", { class: `rc-num rc-col-${key}` })]));
    this.element = h(
      "tr",
      {},
      h("th", { scope: "row", class: "rc-col-name" }, this.link, this.meta),
      h("td", { class: "rc-col-strip" }, this.strip),
      h("td", { class: "rc-col-spark" }, this.spark),
      Object.values(this.cells),
    );
    this.element.row = this;
    observer.observe(this.element);
  }

  update(topic, sparks, colors) {
    this.showMeta(topic);
    for (const [key, , text, title] of NUMERIC) {
      setText(this.cells[key], text(topic));
      if (title) this.cells[key].title = title(topic);
    }
    setClass(this.cells.dead, "rc-bad", topic.problems.includes("dead_growing"));
    setClass(this.cells.lag_ms, "rc-bad", topic.problems.includes("lagging"));
    setClass(this.cells.workers, "rc-bad", topic.problems.includes("no_workers"));
    this.strip.setAttribute("aria-label", fill(gettext("Backlog of %(slots)s slots"), { slots: topic.slots }));
    drawStrip(this.strip, topic.strip, colors);
    drawSpark(this.spark, sparks);
  }

  showMeta(topic) {
    const state = [KINDS[topic.kind] ?? topic.kind, ...topic.problems.map((code) => CHIPS[code] ?? code)].join(" · ");
    if (this.shown === state) return;
    this.shown = state;
    replace(
      this.meta,
      KINDS[topic.kind] ?? topic.kind,
      topic.problems.map((code) => h("span", { class: `rc-tag rc-tag-${code}` }, CHIPS[code] ?? code)),
    );
  }
}

export class TopicTable {
  constructor(onSort) {
    this.rows = new Map();
    this.known = new Map();
    // With a thousand topics, only the rows on screen are drawn.
    this.observer = new IntersectionObserver((entries) => this.scrolled(entries), { rootMargin: "200px" });
    this.order = "";
    this.heads = new Map();
    this.body = h("tbody");
    const heads = COLUMNS.map(([name, title]) => {
      const sortable = SORTABLE.includes(name);
      const label = sortable
        ? h("button", { type: "button", onclick: () => onSort(name) }, title, icon("arrow_drop_down"))
        : title;
      const head = h(
        "th",
        { scope: "col", class: `rc-col-${name}${NUMERIC.some((column) => column[0] === name) ? " rc-num" : ""}` },
        label,
      );
      this.heads.set(name, head);
      return head;
    });
    this.element = h("table", { class: "rc-table rc-topics" }, h("thead", {}, h("tr", {}, heads)), this.body);
  }

  /** `groups`: [[title or null, [topics]]]; `sparks`: name → values; `sort`: "name" or "-name". */
  update(groups, sparks, sort) {
    const colors = heatColors();
    for (const [name, head] of this.heads) {
      const direction = sort === name ? "ascending" : sort === `-${name}` ? "descending" : "none";
      head.setAttribute("aria-sort", direction);
    }
    const order = groups.map(([title, topics]) => `${title}:${topics.map((topic) => topic.name)}`).join("|");
    if (order !== this.order) this.arrange(groups);
    this.order = order;
    for (const [, topics] of groups) {
      for (const topic of topics) {
        const row = this.rows.get(topic.name);
        this.known.set(topic.name, () => row.update(topic, sparks(topic), heatColors()));
        if (row.visible) row.update(topic, sparks(topic), colors);
      }
    }
  }

  scrolled(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && !target.row.visible) this.known.get(target.row.name)?.();
      target.row.visible = isIntersecting;
    }
  }

  arrange(groups) {
    const wanted = new Set(groups.flatMap(([, topics]) => topics.map((topic) => topic.name)));
    for (const name of this.rows.keys()) if (!wanted.has(name)) this.rows.delete(name);
    const lines = groups.flatMap(([title, topics]) => {
      const rows = topics.map((topic) => {
        if (!this.rows.has(topic.name)) this.rows.set(topic.name, new Row(topic.name, this.observer));
        return this.rows.get(topic.name).element;
      });
      if (!title) return rows;
      const words = `${title} (${topics.length})`;
      return [h("tr", { class: "rc-group" }, h("th", { colspan: COLUMNS.length, scope: "rowgroup" }, words)), ...rows];
    });
    // Moving a row would take the focus from a link in it.
    const focused = document.activeElement;
    replace(this.body, lines);
    if (focused && this.body.contains(focused)) focused.focus();
  }
}
