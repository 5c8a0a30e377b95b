// Dead letters by what failed: how many, since when, whether they grow, and what to do about a whole cluster.

import { drawSpark } from "../charts/spark.js";
import { get, ofTopic } from "../core/api.js";
import { byId, h, headRow, setClass, setText, topicName } from "../core/dom.js";
import { count, dateTime, exact, relative, time } from "../core/format.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { openBulk } from "../operations/bulk.js";
import { OPERATION_ACTIONS } from "../operations/operationwords.js";
import { guardedButton } from "../parts/guardedbutton.js";

/** @typedef {{ name: string, timed?: boolean, slots?: number }} Of */

const REFRESH_MS = 5000;
const ACTIONS = ["requeue", "drop"];

export class Clusters {
  /**
   * `topic`: {name, …}; null: of all topics. `several`: of a stream, whose groups have them.
   * @param {Of | null} topic
   * @param {(found: Api.Clusters) => void} [onLoaded]
   * @param {boolean} [several]
   */
  constructor(topic, onLoaded = (_found) => {}, several = false) {
    const everywhere = topic === null || several;
    this.path = topic === null ? "dead" : ofTopic(topic.name, "/clusters");
    this.everywhere = everywhere;
    this.topic = several ? null : topic;
    this.onLoaded = onLoaded;
    this.asOf = "";
    this.rows = new Map();
    this.body = h("tbody");
    this.note = h("span", { class: "rc-muted" });
    const titles = [
      everywhere ? [several ? gettext("Group") : gettext("Topic")] : null,
      [gettext("Error")],
      [gettext("Dead"), "rc-num"],
      [gettext("Last hour")],
      [gettext("First seen"), "rc-less"],
      [gettext("Last seen")],
      [h("span", { class: "rc-sr" }, gettext("Actions"))],
    ].filter(Boolean);
    this.scroll = h(
      "div",
      { class: "rc-scroll" },
      h("table", { class: "rc-table rc-clusters" }, headRow(titles), this.body),
    );
    this.nothing = h("p", { class: "rc-nothing", hidden: true }, gettext("No dead letters."));
    this.element = h(
      "section",
      { class: "rc-card rc-flush", "aria-label": gettext("Clusters by error") },
      h("header", { class: "rc-toolbar" }, h("h2", { class: "rc-strong" }, gettext("Clusters by error")), this.note),
      this.scroll,
      this.nothing,
    );
    this.load();
    setInterval(() => document.hidden || document.querySelector("dialog[open]") || this.load(), REFRESH_MS);
  }

  async load() {
    try {
      /** @type {Api.Clusters} */
      const found = await get(this.path);
      this.show(found);
      this.onLoaded(found);
      this.mark(false);
    } catch (problem) {
      setText(this.note, `${messageOf(problem)} ${this.asOf}`);
      this.mark(true);
    }
  }

  /** On a topic's page its live data says whether what stands there is old. */
  mark(/** @type {boolean} */ old) {
    if (this.path === "dead") setClass(byId("rc-page"), "rc-stale", old);
  }

  show(/** @type {Api.Clusters} */ { clusters, left_out, as_of_ms }) {
    this.asOf = fill(gettext("as of %(time)s"), { time: time(as_of_ms) });
    const words = [this.asOf];
    if (left_out)
      words.push(
        fill(ngettext("%(n)s smaller one is not shown", "%(n)s smaller ones are not shown", left_out), {
          n: exact(left_out),
        }),
      );
    setText(this.note, words.join(" · "));
    this.scroll.hidden = !clusters.length;
    this.nothing.hidden = clusters.length > 0;
    // Below it the topic's list says so already.
    this.element.hidden = !this.everywhere && !clusters.length;
    const keys = new Set(clusters.map(keyOf));
    for (const [key, row] of this.rows)
      if (!keys.has(key)) {
        row.element.remove();
        this.rows.delete(key);
      }
    clusters.forEach((cluster, at) => {
      const key = keyOf(cluster);
      let row = this.rows.get(key);
      if (!row) {
        row = new Row(cluster, this.everywhere, this.topic);
        this.rows.set(key, row);
      }
      if (this.body.children[at] !== row.element) this.body.insertBefore(row.element, this.body.children[at] ?? null);
      row.update(cluster, as_of_ms);
    });
  }
}

const keyOf = (/** @type {Api.Cluster} */ cluster) => `${cluster.topic}\n${cluster.fingerprint}`;

class Row {
  /**
   * @param {Api.Cluster} cluster
   * @param {boolean} everywhere
   * @param {Of | null} topic
   */
  constructor(cluster, everywhere, topic) {
    this.cluster = cluster;
    this.count = h("td", { class: "rc-num" });
    this.canvas = h("canvas", { class: "rc-spark", role: "img" });
    this.first = h("time");
    this.last = h("time");
    const target = topic ?? { name: cluster.topic };
    this.element = h(
      "tr",
      {},
      everywhere
        ? h("th", { scope: "row" }, h("a", { href: topicAddress(cluster.topic, "dead") }, topicName(cluster.topic)))
        : null,
      h(
        "td",
        { class: "rc-cluster-error" },
        h("strong", {}, cluster.error || gettext("unknown error")),
        h("div", { class: "rc-muted rc-cluster-example", title: this.words(cluster) }, this.words(cluster)),
      ),
      this.count,
      h("td", {}, this.canvas),
      h("td", { class: "rc-less" }, this.first),
      h("td", {}, this.last),
      h(
        "td",
        {},
        h(
          "div",
          { class: "rc-row-actions" },
          ACTIONS.map((name) => this.button(name, target)),
        ),
      ),
    );
  }

  words(/** @type {Api.Cluster} */ cluster) {
    return cluster.example ?? gettext("The text of an error needs the permission “read_payload”.");
  }

  button(/** @type {string} */ name, /** @type {Of} */ topic) {
    const missing = page.grants.actions[name];
    const given = () => ({
      action: name,
      filter: {
        state: "dead",
        fingerprint: this.cluster.fingerprint,
        words: [this.cluster.error, this.cluster.example].filter(Boolean).join(": ").slice(0, 300),
      },
    });
    const [symbol, look] = name === "drop" ? ["delete", "rc-small rc-danger"] : ["replay", "rc-small"];
    return guardedButton({ symbol, label: OPERATION_ACTIONS[name], missing, look }, () =>
      openBulk(topic, ["dead"], given()),
    );
  }

  update(/** @type {Api.Cluster} */ cluster, /** @type {number} */ nowMs) {
    this.cluster = cluster;
    setText(this.count, count(cluster.count));
    const points = cluster.trend.length ? [...cluster.trend, cluster.count] : [cluster.count, cluster.count];
    const grown = cluster.count - points[0];
    this.canvas.title =
      grown > 0
        ? fill(gettext("%(n)s more than an hour ago"), { n: exact(grown) })
        : grown < 0
          ? fill(gettext("%(n)s fewer than an hour ago"), { n: exact(-grown) })
          : gettext("as many as an hour ago");
    this.canvas.setAttribute("aria-label", this.canvas.title);
    drawSpark(this.canvas, points);
    showTime(this.first, cluster.first_ms, nowMs);
    showTime(this.last, cluster.last_ms, nowMs);
  }
}

/**
 * @param {HTMLElement} element
 * @param {number | null} ms
 * @param {number} nowMs
 */
function showTime(element, ms, nowMs) {
  setText(element, ms ? relative(ms, nowMs) : "–");
  element.title = dateTime(ms);
}
