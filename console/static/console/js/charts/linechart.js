// A chart over time with a legend that tells the current values, and the same as a table.
import { h, replace, setText } from "../core/dom.js";
import { dateTime, time } from "../core/format.js";
import { AT } from "../core/point.js";
import { gettext } from "../core/text.js";
import { color } from "../core/theme.js";
import { DAY } from "../time/timespan.js";
import { axisTicks, axisWords } from "./axiswords.js";
import { ChartPointer } from "./chartpointer.js";
import { ChartTable } from "./charttable.js";
import { tableToggle } from "./tabletoggle.js";

/** @typedef {[string, string]} Line */
/** @typedef {import("../time/timespan.js").Span} Span */

const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
const LINES = ["--rc-line-1", "--rc-line-2", "--rc-line-3", "--rc-line-4"];
const GAP_MS = 6000;
const AXES_PX = 50; // what the axes of values take, about
const TABLE_ROWS = 40;

export class LineChart {
  /**
   * `lines`: [[name in the point, title]]; `format` writes a value; `log`: logarithmic axis; `right`: names on a second
   * axis; `acts`: what a pointer does, see `ChartPointer`.
   * @param {string} title
   * @param {Line[]} lines
   * @param {(value: any) => string} format
   * @param {{ log?: boolean, right?: string[], acts?: { onZoom?: (from: number, to: number) => void, onMoment?: (at: number) => void } }} [options]
   */
  constructor(title, lines, format, { log = false, right = /** @type {string[]} */ ([]), acts = {} } = {}) {
    this.title = title;
    this.lines = lines;
    this.format = format;
    this.log = log;
    this.right = right;
    this.hidden = new Set();
    this.asTable = false;
    /** @type {ChartTable | null} */
    this.table = null;
    /** Chart.js has it. @type {any} */
    this.chart = null;
    /** @type {Span} */
    this.span = { from: 0, to: 0 };
    /** @type {number[][] | null} */
    this.points = null;
    /** @type {number | undefined} */
    this.gap = undefined;
    this.width = 0;
    this.canvas = h("canvas", { role: "img", "aria-label": title });
    this.pointer = new ChartPointer(this.canvas, () => this.chart, acts);
    this.box = h("div", { class: "rc-chart" }, this.canvas);
    // The first drawing waits until there is room; asking for the width at every one would lay the page out each time.
    new ResizeObserver(([entry]) => {
      const first = !this.width;
      this.width = entry.contentRect.width;
      if (first && this.points) this.redraw();
    }).observe(this.box);
    this.legend = h("div", { class: "rc-legend" });
    this.values = lines.map(([name, label], index) => this.legendEntry(name, label, index));
    this.toggle = tableToggle(() => this.switchView());
    this.element = h(
      "section",
      { class: "rc-card", "aria-label": title },
      h("header", {}, h("h2", {}, title), this.legend, this.toggle),
      this.box,
    );
  }

  /**
   * @param {string} name
   * @param {string} label
   * @param {number} index
   */
  legendEntry(name, label, index) {
    const value = h("b", {}, "–");
    const swatch = h("i", { class: `rc-swatch rc-swatch-${index}`, "aria-hidden": "true" });
    const button = h(
      "button",
      { type: "button", class: "rc-legend-entry", "aria-pressed": "true" },
      swatch,
      label,
      " ",
      value,
    );
    button.addEventListener("click", () => {
      if (this.hidden.has(name)) this.hidden.delete(name);
      else this.hidden.add(name);
      button.setAttribute("aria-pressed", String(!this.hidden.has(name)));
      if (this.chart) {
        this.chart.setDatasetVisibility(index, !this.hidden.has(name));
        this.chart.update("none");
      }
    });
    this.legend.append(button);
    return value;
  }

  switchView() {
    this.asTable = !this.asTable;
    this.toggle.setAttribute("aria-pressed", String(this.asTable));
    if (!this.asTable) replace(this.box, this.canvas);
    this.redraw();
  }

  redraw() {
    if (this.points) this.update(this.points, this.span, this.gap, this.pointer.at);
  }

  /**
   * Draw points [[…]] over a span of time. A line ends where the next point is further than `gap` away. `at`: a moment
   * that is marked, and whose values are told; null: the last ones.
   * @param {number[][]} points
   * @param {Span} span
   * @param {number} [gap]
   * @param {number | null} [at]
   */
  update(points, span, gap = GAP_MS, at = /** @type {number | null} */ (null)) {
    this.points = points;
    this.span = span;
    this.gap = gap;
    this.pointer.at = at;
    const told = at === null ? points.at(-1) : points.findLast((point) => point[AT.at_ms] <= at);
    const known = told && (at === null || at - told[AT.at_ms] <= gap);
    for (const [index, [name]] of this.lines.entries())
      setText(this.values[index], known ? this.format(told[AT[name]]) : "–");
    if (this.asTable) this.drawTable(points);
    else if (this.width) this.drawChart(points, span, gap);
  }

  /**
   * @param {number[][]} points
   * @param {Span} span
   * @param {number} gap
   */
  drawChart(points, { from, to }, gap) {
    this.chart ??= this.build();
    this.lines.forEach(([name], index) => {
      this.chart.data.datasets[index].data = points.map((point) => ({
        x: point[AT.at_ms],
        y: this.visible(point[AT[name]]),
      }));
      this.chart.data.datasets[index].spanGaps = gap;
    });
    this.chart.options.scales.x.min = from;
    this.chart.options.scales.x.max = to;
    this.chart.update("none");
  }

  visible(/** @type {number | null} */ value) {
    if (value === null || !this.log) return value;
    return Math.max(1, value); // a logarithmic axis has no zero
  }

  /** Colours are read again when the theme changes. */
  restyle() {
    this.chart?.destroy();
    this.chart = null;
    this.redraw();
  }

  build() {
    const text = color("--rc-muted");
    const grid = { color: color("--rc-grid"), drawTicks: false };
    return new Chart(this.canvas, {
      type: "line",
      plugins: [this.pointer.plugin],
      data: {
        datasets: this.lines.map(([name, label], index) => ({
          label,
          data: [],
          hidden: this.hidden.has(name),
          borderColor: color(LINES[index]),
          backgroundColor: color(LINES[index]),
          borderDash: DASHES[index],
          borderWidth: 1.5,
          pointRadius: 0,
          pointHitRadius: 8,
          yAxisID: this.right.includes(name) ? "right" : "y",
        })),
      },
      options: {
        animation: false,
        parsing: false,
        normalized: true,
        maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false },
        plugins: {
          legend: { display: false },
          tooltip: {
            callbacks: {
              title: (/** @type {any[]} */ [item]) =>
                (this.span.to - this.span.from < DAY / 2 ? time : dateTime)(item.parsed.x),
              label: (/** @type {any} */ item) => `${item.dataset.label}: ${this.format(item.parsed.y)}`,
            },
          },
        },
        scales: {
          x: {
            type: "linear",
            grid,
            border: { display: false },
            afterBuildTicks: (/** @type {any} */ axis) => {
              axis.ticks = axisTicks(this.span, this.width - AXES_PX).map((value) => ({ value }));
            },
            ticks: {
              color: text,
              maxRotation: 0,
              autoSkip: false,
              padding: 8, // below the 0 of the other axis
              callback: (/** @type {number} */ value) => axisWords(value, this.span),
            },
          },
          y: this.valueAxis(text, grid),
          ...(this.right.length ? { right: { ...this.valueAxis(text, { display: false }), position: "right" } } : {}),
        },
      },
    });
  }

  valueAxis(/** @type {string} */ text, /** @type {object} */ grid) {
    return {
      type: this.log ? "logarithmic" : "linear",
      min: this.log ? 1 : 0,
      suggestedMax: this.log ? 10 : 1,
      grid,
      border: { display: false },
      ticks: { color: text, maxTicksLimit: 5, callback: (/** @type {number} */ value) => this.tick(value) },
    };
  }

  tick(/** @type {number} */ value) {
    if (this.log && !Number.isInteger(Math.log10(value))) return "";
    return Number.isInteger(value) ? this.format(value) : "";
  }

  drawTable(/** @type {number[][]} */ points) {
    const step = Math.max(1, Math.ceil(points.length / TABLE_ROWS));
    const rows = points.filter((_, index) => (points.length - 1 - index) % step === 0).reverse();
    this.table ??= new ChartTable([gettext("Time"), ...this.lines.map(([, label]) => label)]);
    if (!this.table.element.isConnected) replace(this.box, this.table.element);
    this.table.update(
      rows.map((point) => [
        point[AT.at_ms],
        (this.span.to - this.span.from < DAY / 2 ? time : dateTime)(point[AT.at_ms]),
        ...this.lines.map(([name]) => this.format(point[AT[name]])),
      ]),
    );
  }
}
