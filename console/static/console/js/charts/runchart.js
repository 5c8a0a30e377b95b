// A figure from run to run: a chart, and the same as a table.
import { h, replace } from "../core/dom.js";
import { dateTime } from "../core/format.js";
import { gettext } from "../core/text.js";
import { color } from "../core/theme.js";
import { axisRoom, axisWords } from "./axiswords.js";
import { ChartTable } from "./charttable.js";
import { tableToggle } from "./tabletoggle.js";

/** @typedef {[string, string]} Line */
/** @typedef {Record<string, any>} Point */

const LINES = ["--rc-line-1", "--rc-line-2", "--rc-line-3", "--rc-line-4"];
/** What the axis of values takes of the width. */
const AXIS_PX = 60;
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

export class RunChart {
  /**
   * `lines`: [[name in a point, title]]; `format` writes a value; `first`: what a point is; `gaps`: whether lines go on
   * over points of which nothing is known.
   * @param {string} title
   * @param {Line[]} lines
   * @param {(value: any) => string} format
   * @param {{ first?: string, gaps?: boolean }} [options]
   */
  constructor(title, lines, format, { first = gettext("Run"), gaps = true } = {}) {
    this.first = first;
    this.gaps = gaps;
    this.title = title;
    this.lines = lines;
    this.format = format;
    this.asTable = false;
    /** @type {ChartTable | null} */
    this.table = null;
    /** @type {Point[]} */
    this.points = [];
    /** @type {any} */
    this.chart = null;
    this.canvas = h("canvas", { role: "img", "aria-label": title });
    this.box = h("div", { class: "rc-chart" }, this.canvas);
    this.toggle = tableToggle(() => this.switchView());
    this.element = h(
      "section",
      { class: "rc-card", "aria-label": title },
      h("header", {}, h("h2", {}, title), h("span", { class: "rc-end" }), this.toggle),
      this.box,
    );
  }

  switchView() {
    this.asTable = !this.asTable;
    this.toggle.setAttribute("aria-pressed", String(this.asTable));
    if (!this.asTable) replace(this.box, this.canvas);
    this.update(this.points);
  }

  /** Points with `at_ms` and the values of the lines, oldest first. */
  update(/** @type {Point[]} */ points) {
    this.points = points;
    if (this.asTable) {
      this.drawTable();
      return;
    }
    this.chart ??= this.build();
    this.chart.data.labels = points.map((point) => dateTime(point.at_ms));
    this.lines.forEach(([name], index) => {
      this.chart.data.datasets[index].data = points.map((point) => point[name] ?? null);
    });
    this.chart.update("none");
  }

  build() {
    const text = color("--rc-muted");
    const grid = { color: color("--rc-grid"), drawTicks: false };
    return new Chart(this.canvas, {
      type: "line",
      data: {
        labels: [],
        datasets: this.lines.map(([, label], index) => ({
          label,
          data: [],
          borderColor: color(LINES[index]),
          backgroundColor: color(LINES[index]),
          borderDash: DASHES[index],
          borderWidth: 1.5,
          pointRadius: this.gaps ? 3 : 1,
          spanGaps: this.gaps,
        })),
      },
      options: {
        animation: false,
        maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false },
        plugins: {
          legend: { display: this.lines.length > 1, labels: { color: text, usePointStyle: true, pointStyle: "line" } },
          tooltip: {
            callbacks: { label: (/** @type {any} */ item) => `${item.dataset.label}: ${this.format(item.parsed.y)}` },
          },
        },
        scales: {
          x: {
            offset: true,
            grid,
            border: { display: false },
            afterBuildTicks: (/** @type {any} */ axis) => {
              axis.ticks = this.spread(axis.ticks);
            },
            ticks: {
              color: text,
              maxRotation: 0,
              autoSkip: false,
              padding: 8, // below the 0 of the other axis
              callback: (/** @type {number} */ index) => axisWords(this.points[index].at_ms, this.span()),
            },
          },
          y: {
            min: 0,
            grid,
            border: { display: false },
            ticks: {
              color: text,
              maxTicksLimit: 5,
              callback: (/** @type {number} */ value, /** @type {number} */ at, /** @type {any[]} */ all) => {
                const words = this.format(value);
                return at && words === this.format(all[at - 1].value) ? "" : words; // of 0.5 ms and 1 ms, one "1 ms"
              },
            },
          },
        },
      },
    });
  }

  span() {
    return { from: this.points[0].at_ms, to: this.points[this.points.length - 1].at_ms };
  }

  /** As many of the points as there is room to name, as far apart as each other. */
  spread(/** @type {any[]} */ ticks) {
    if (!this.points.length) return [];
    const room = axisRoom(this.span(), this.canvas.clientWidth - AXIS_PX);
    const step = Math.max(1, Math.ceil(ticks.length / room));
    return ticks.filter((_, index) => index % step === 0);
  }

  drawTable() {
    this.table ??= new ChartTable([this.first, ...this.lines.map(([, label]) => label)]);
    if (!this.table.element.isConnected) replace(this.box, this.table.element);
    this.table.update(
      [...this.points]
        .reverse()
        .map((point) => [
          point.at_ms,
          dateTime(point.at_ms),
          ...this.lines.map(([name]) => this.format(point[name] ?? null)),
        ]),
    );
  }
}
