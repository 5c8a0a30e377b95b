// The figures of reconciliations, run to run, of one topic or of all of them.

import { RunChart } from "../charts/runchart.js";
import { h, replace } from "../core/dom.js";
import { count, duration, exact, NONE } from "../core/format.js";
import { gettext } from "../core/text.js";

const SUMMED = ["sent", "acked", "retried", "died"];
const share = (/** @type {number | null} */ value) => (value === null ? NONE : `${Math.round(1000 * value) / 10} %`);
const ms = (/** @type {number | null} */ value) => (value === null ? NONE : duration(value));
const times = (/** @type {number | null} */ value) => (value === null ? NONE : `× ${Math.round(100 * value) / 100}`);
const PERCENTILES = (/** @type {string} */ name) =>
  ["p50", "p95", "p99"].map(
    (each) => /** @type {import("../charts/runchart.js").Line} */ ([`${name}_${each}_ms`, each]),
  );

export class RunCharts {
  constructor() {
    /** @type {Api.Point[]} */
    this.trend = [];
    this.key = "";
    this.topic = h("select", { class: "rc-select", "aria-label": gettext("Topic"), onchange: () => this.draw() });
    this.charts = [
      new RunChart(
        gettext("Volumes"),
        [
          ["sent", gettext("sent")],
          ["acked", gettext("done")],
        ],
        count,
      ),
      new RunChart(
        gettext("Retries and deaths"),
        [
          ["retried", gettext("retries")],
          ["died", gettext("died")],
        ],
        count,
      ),
      new RunChart(gettext("Merge ratio"), [["merge_ratio", gettext("merged of sent")]], share),
      new RunChart(gettext("Lateness"), PERCENTILES("lateness"), ms),
      new RunChart(gettext("End to end"), PERCENTILES("end_to_end"), ms),
      new RunChart(gettext("Slot skew"), [["slot_skew", gettext("fullest slot over the mean")]], times),
      new RunChart(gettext("Findings"), [["findings", gettext("findings")]], exact),
    ];
    this.element = h(
      "div",
      { class: "rc-run-charts", hidden: true },
      h("div", { class: "rc-head" }, h("h2", { class: "rc-strong" }, gettext("From run to run")), this.topic),
      h(
        "div",
        { class: "rc-run-grid" },
        this.charts.map((chart) => chart.element),
      ),
    );
  }

  update(/** @type {Api.Point[]} */ trend) {
    const key = trend.map((point) => point.id).join();
    if (this.key === key) return;
    this.key = key;
    this.trend = trend;
    this.element.hidden = trend.length === 0;
    const names = [...new Set(trend.flatMap((point) => point.topics.map((row) => row.topic)))].sort();
    const before = this.topic.value;
    replace(
      this.topic,
      h("option", { value: "" }, gettext("All topics")),
      names.map((name) => h("option", { value: name }, name)),
    );
    this.topic.value = names.includes(before) ? before : "";
    this.draw();
  }

  draw() {
    if (!this.trend.length) return;
    const points = this.trend.map((point) => ({
      at_ms: point.at_ms,
      findings: point.findings,
      ...this.values(point.topics),
    }));
    for (const chart of this.charts) chart.update(points);
  }

  values(/** @type {Record<string, any>[]} */ rows) {
    if (this.topic.value) return rows.find((row) => row.topic === this.topic.value) ?? {};
    /** @type {Record<string, any>} */
    const found = {};
    for (const name of SUMMED) found[name] = rows.reduce((sum, row) => sum + (row[name] ?? 0), 0);
    const merged = rows.reduce((sum, row) => sum + (row.merge_ratio ?? 0) * (row.sent ?? 0), 0);
    found.merge_ratio = found.sent ? merged / found.sent : null;
    // Percentiles cannot be added: of all topics the worst is shown.
    for (const name of Object.keys(rows[0] ?? {}))
      if (name.endsWith("_ms") || name === "slot_skew")
        found[name] = rows.reduce(
          (worst, row) => (typeof row[name] === "number" ? Math.max(worst ?? 0, row[name]) : worst),
          /** @type {number | null} */ (null),
        );
    return found;
  }
}
