// The table of topics: rows stay where they are and change in place; only those on the screen exist.

import { heatColors } from "../charts/scale.js";
import { drawSpark } from "../charts/spark.js";
import { drawStrip } from "../charts/strip.js";
import { h, icon, replace, setClass, setText, setTitle } from "../core/dom.js";
import { count, duration, exact, NONE, rate } from "../core/format.js";
import { topicAddress } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { pixels } from "../core/theme.js";
import { CHIPS } from "../parts/problems.js";
import { WindowedRows } from "../parts/windowedrows.js";
import { isFavourite, Star } from "./favourites.js";

/** @typedef {Live.TopicLine} Topic */
/** @typedef {(topic: Topic) => string} Text */
/**
 * What a click does, and `sparks(topic)`: values of its small chart.
 * @typedef {{ onSort: (column: string) => void, onFold: (group: string) => void, onStar: () => void,
 *   sparks: (topic: Topic) => number[] }} Acts
 */

/** @type {Record<string, string>} */
export const KINDS = {
  "range-merge": gettext("range merge"),
  priority: gettext("priority"),
  "fixed-time": gettext("fixed time"),
  stream: gettext("stream"),
  group: gettext("consumer group"),
};
/** Of a column that means nothing to streams: nothing waits in them, or fails. */
const taken = (/** @type {Text} */ text) => (/** @type {Topic} */ topic) =>
  topic.kind === "stream" ? NONE : text(topic);
const UNKNOWN = gettext("unknown");

/** [name, title, text, title text, less important] @type {[string, string, Text?, Text?][]} */
const COLUMNS = [
  ["name", gettext("Topic")],
  ["strip", gettext("Slots")],
  ["spark", gettext("Backlog, 15 min")],
  ["backlog", gettext("Backlog"), backlog, backlogTitle],
  ["in_s", gettext("In/s"), (t) => rate(t.in_s)],
  ["out_s", gettext("Out/s"), taken((t) => rate(t.out_s))],
  ["lag_ms", gettext("Due lag"), (t) => (t.timed ? duration(t.lag_ms) : NONE)],
  ["in_flight", gettext("In flight"), taken((t) => count(t.in_flight)), (t) => exact(t.in_flight)],
  ["retrying", gettext("Retrying"), taken((t) => count(t.retrying)), (t) => exact(t.retrying)],
  ["dead", gettext("Dead"), taken((t) => count(t.dead)), (t) => exact(t.dead)],
  ["workers", gettext("Workers"), taken((t) => count(t.workers))],
];

const groupOf = (/** @type {Topic} */ topic) => topic.name.slice(topic.name.indexOf("@") + 1);
const groupWords = (/** @type {Topic} */ topic) =>
  fill(gettext("consumer group of %(stream)s"), { stream: topic.name.slice(0, topic.name.indexOf("@")) });

/** What waits; of a stream what it keeps, of which nothing waits. */
function backlog(/** @type {Topic} */ topic) {
  if (topic.kind === "stream") return fill(gettext("%(n)s kept"), { n: count(topic.length) });
  return topic.kind === "group" && topic.lag === null ? UNKNOWN : count(topic.backlog);
}

function backlogTitle(/** @type {Topic} */ topic) {
  if (topic.kind === "stream") return fill(gettext("Entries kept: %(n)s"), { n: exact(topic.length) });
  if (topic.kind !== "group") return exact(topic.backlog);
  if (topic.lag === null) return gettext("Somebody wrote into the stream around us: how much is ahead is not known.");
  return fill(gettext("Ahead: %(lag)s; retrying: %(retrying)s"), {
    lag: exact(topic.lag),
    retrying: exact(topic.retrying),
  });
}

const NUMERIC = COLUMNS.flatMap(([name, , text, title]) => (text ? [{ name, text, title }] : []));
export const SORTABLE = COLUMNS.map(([name]) => name).filter((name) => name !== "strip" && name !== "spark");

class Row {
  constructor(/** @type {Acts} */ { sparks, onStar }) {
    this.sparks = sparks;
    this.star = new Star(onStar);
    this.star.element.tabIndex = -1; // by keyboard it is reached on the topic's page: Tab walks from row to row
    this.named = "";
    this.shown = "";
    this.link = h("a", { class: "rc-topic-link" });
    this.meta = h("span", { class: "rc-topic-meta" });
    this.strip = h("canvas", { class: "rc-strip", role: "img" });
    this.spark = h("canvas", {
      class: "rc-spark",
      role: "img",
      "aria-label": gettext("Backlog over the last 15 minutes"),
    });
    this.cells = Object.fromEntries(NUMERIC.map(({ name }) => [name, h("td", { class: `rc-num rc-col-${name}` })]));
    this.element = h(
      "tr",
      {},
      h("th", { scope: "row", class: "rc-col-name" }, this.link, this.star.element, this.meta),
      h("td", { class: "rc-col-strip" }, this.strip),
      h("td", { class: "rc-col-spark" }, this.spark),
      Object.values(this.cells),
    );
  }

  update(/** @type {{ topic: Topic }} */ { topic }) {
    // Scrolling draws rows again of which nothing has changed.
    const colors = heatColors();
    const drawn = [topic, colors.join(), devicePixelRatio, pixels("--rc-strip-width"), isFavourite(topic.name)];
    if (this.drawn?.every((value, at) => value === drawn[at])) return;
    this.drawn = drawn;
    if (this.named !== topic.name) {
      this.named = topic.name;
      this.link.textContent = topic.kind === "group" ? groupOf(topic) : topic.name;
      setTitle(this.link, topic.name);
      this.link.setAttribute("href", topicAddress(topic.name));
      // A group stands below its stream.
      this.element.classList.toggle("rc-of-stream", topic.kind === "group");
    }
    this.star.show(topic.name);
    this.showMeta(topic);
    for (const { name, text, title } of NUMERIC) {
      setText(this.cells[name], text(topic));
      if (title) setTitle(this.cells[name], title(topic));
    }
    setClass(this.cells.dead, "rc-bad", topic.problems.includes("dead_growing") || topic.problems.includes("dead"));
    setClass(this.cells.lag_ms, "rc-bad", topic.problems.includes("lagging"));
    setClass(this.cells.workers, "rc-bad", topic.problems.includes("no_workers"));
    const words =
      topic.kind === "stream" ? gettext("Entries in %(slots)s slots") : gettext("Backlog of %(slots)s slots");
    this.strip.setAttribute("aria-label", fill(words, { slots: topic.slots }));
    drawStrip(this.strip, topic.strip, colors);
    drawSpark(this.spark, this.sparks(topic));
  }

  showMeta(/** @type {Topic} */ topic) {
    const kind = topic.kind === "group" ? groupWords(topic) : (KINDS[topic.kind] ?? topic.kind);
    const state = [kind, ...topic.problems.map((code) => CHIPS[code] ?? code)].join(" · ");
    if (this.shown === state) return;
    this.shown = state;
    replace(
      this.meta,
      kind,
      topic.problems.map((code) => h("span", { class: `rc-tag rc-tag-${code}` }, CHIPS[code] ?? code)),
    );
  }
}

/** The line above the topics whose names begin alike. */
class Heading {
  constructor(/** @type {Acts} */ { onFold }) {
    this.name = "";
    this.symbol = icon("expand_more");
    this.words = h("span");
    this.button = h(
      "button",
      { type: "button", class: "rc-fold", onclick: () => onFold(this.name) },
      this.symbol,
      this.words,
    );
    this.title = h("th", { scope: "rowgroup" }, this.button);
    this.element = h("tr", { class: "rc-group" }, this.title);
  }

  update(/** @type {{ heading: string, name: string, folded: boolean }} */ { heading, name, folded }) {
    this.name = name;
    setText(this.words, heading);
    setText(this.symbol, folded ? "chevron_right" : "expand_more");
    this.button.setAttribute("aria-expanded", String(!folded));
    // One that spans more columns than are shown would add some.
    const columns = pixels("--rc-topic-columns");
    if (this.title.colSpan !== columns) this.title.colSpan = columns;
  }
}

export class TopicTable {
  constructor(/** @type {Acts} */ acts) {
    this.heads = new Map();
    const body = h("tbody");
    this.rows = new WindowedRows(body, (item) => (item.topic ? new Row(acts) : new Heading(acts)));
    const heads = COLUMNS.map(([name, title]) => {
      const sortable = SORTABLE.includes(name);
      const label = sortable
        ? h("button", { type: "button", onclick: () => acts.onSort(name) }, title, icon("arrow_drop_down"))
        : title;
      const head = h(
        "th",
        { scope: "col", class: `rc-col-${name}${NUMERIC.some((column) => column.name === name) ? " rc-num" : ""}` },
        label,
      );
      this.heads.set(name, head);
      return head;
    });
    this.element = h("table", { class: "rc-table rc-topics" }, h("thead", {}, h("tr", {}, heads)), body);
  }

  /** Where it stands on the screen; before anything is changed. */
  look() {
    this.rows.look();
  }

  /** `sort`: "name" or "-name". */
  update(/** @type {import("./topicfilter.js").Group[]} */ groups, /** @type {string} */ sort) {
    for (const [name, head] of this.heads) {
      const direction = sort === name ? "ascending" : sort === `-${name}` ? "descending" : "none";
      if (head.getAttribute("aria-sort") !== direction) head.setAttribute("aria-sort", direction);
    }
    const items = groups.flatMap(({ name, title, topics, folded }) => {
      const lines = folded ? [] : topics.map((topic) => ({ key: `t ${topic.name}`, sort: "topic", topic }));
      const heading = `${title} (${topics.length})`;
      return title ? [{ key: `g ${name}`, sort: "heading", heading, name, folded }, ...lines] : lines;
    });
    this.element.setAttribute("aria-rowcount", String(items.length + 1));
    this.rows.show(items);
  }
}
