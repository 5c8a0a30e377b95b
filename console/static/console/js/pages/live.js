// The Live tab: charts, slots, prepare queue, forecast.
import { param, setParams } from "../core/address.js";
import { byId, h, press, replace } from "../core/dom.js";
import { count, duration, rate } from "../core/format.js";
import { page } from "../core/page.js";
import { AT } from "../core/point.js";
import { fill, gettext } from "../core/text.js";
import { onThemeChange } from "../core/theme.js";
import { Bars } from "../parts/bars.js";
import { HeatMap } from "../parts/heatmap.js";
import { LineChart } from "../parts/linechart.js";
import { PrepareQueue } from "../parts/prepare.js";
import { Series } from "../parts/series.js";
import { openSlot } from "../parts/slotpanel.js";

const RANGES = { 1: gettext("1 min"), 5: gettext("5 min"), 15: gettext("15 min") };
const DEFAULT_RANGE = "5";

/** Of what is taken and settled; a group reads what is ahead of it. */
function queueCharts(group, lateness) {
  return [
    new LineChart(
      gettext("Throughput per second"),
      [
        ["in_s", group ? gettext("read") : gettext("in")],
        ["out_s", gettext("out")],
        ...(group ? [] : [["merged_s", gettext("merged")]]),
      ],
      rate,
    ),
    new LineChart(
      gettext("Backlog"),
      [
        ["backlog", gettext("backlog")],
        ["ready", group ? gettext("ahead or ready") : gettext("ready")],
        ["retrying", gettext("retrying")],
        ["in_flight", gettext("in flight")],
      ],
      count,
    ),
    ...(group
      ? [new LineChart(gettext("Behind"), [["lag_ms", gettext("age of the next entry")]], duration)]
      : lateness),
    new LineChart(
      gettext("Failures"),
      [
        ["failed_s", gettext("failed/s")],
        ["dead", gettext("dead (right)")],
      ],
      rate,
      { right: ["dead"] },
    ),
  ];
}

function streamCharts() {
  return [
    new LineChart(gettext("Added per second"), [["in_s", gettext("added")]], rate),
    new LineChart(gettext("Entries kept"), [["length", gettext("entries")]], count),
  ];
}

export class LiveTab {
  constructor(live) {
    this.live = live;
    this.series = new Series();
    this.range = param("range", DEFAULT_RANGE) in RANGES ? param("range", DEFAULT_RANGE) : DEFAULT_RANGE;
    const { kind } = page.topic;
    this.stream = kind === "stream";
    this.queue = page.topic.timed && !this.stream && kind !== "group";
    const lateness = this.queue
      ? [
          new LineChart(
            gettext("Lateness"),
            [
              ["p50", "p50"],
              ["p95", "p95"],
              ["p99", "p99"],
            ],
            duration,
            { log: true },
          ),
        ]
      : [];
    this.charts = this.stream ? streamCharts() : queueCharts(kind === "group", lateness);
    this.heat = new HeatMap(
      param("metric", "backlog"),
      kind,
      (slot) => this.open(slot),
      (metric) => setParams({ metric }, { metric: "backlog" }),
    );
    this.prepare = new PrepareQueue(live);
    this.forecast = new Bars(gettext("Forecast: messages due per minute"), {
      unit: gettext("messages"),
      empty: gettext("Nothing becomes due within the next half hour."),
    });
    this.ranges = h(
      "div",
      { class: "rc-segments", role: "group", "aria-label": gettext("Time shown") },
      Object.entries(RANGES).map(([minutes, label]) =>
        h("button", { type: "button", dataset: { name: minutes }, onclick: () => this.show(minutes) }, label),
      ),
    );
    replace(
      byId("rc-tab"),
      h("div", { class: "rc-line-end" }, this.ranges),
      h(
        "div",
        { class: "rc-grid" },
        this.charts.map((chart) => chart.element),
        this.queue || this.stream ? null : this.prepare.ages.element,
      ),
      this.heat.element,
      this.queue ? h("div", { class: "rc-grid" }, this.prepare.ages.element, this.forecast.element) : null,
      this.stream ? null : this.prepare.oldest,
    );
    this.show(this.range);
    onThemeChange(() => {
      for (const chart of this.charts) chart.restyle();
      this.heat.draw();
    });
    const slot = Number(param("slot", "-1"));
    if (Number.isInteger(slot) && slot >= 0 && slot < page.topic.slots) this.open(slot);
  }

  show(minutes) {
    this.range = minutes;
    setParams({ range: minutes }, { range: DEFAULT_RANGE });
    press(this.ranges, minutes);
    this.render();
  }

  open(slot) {
    openSlot(slot, this.live, () => this.heat.mark(-1));
    this.heat.mark(slot);
  }

  take(message) {
    if (message.type === "history") this.series.load(message.points);
    if (message.type === "topic") {
      this.series.add(message.point);
      this.frame = message;
    }
    if (message.type === "details") this.details = message;
  }

  render() {
    const range = Number(this.range) * 60_000;
    const points = this.series.since(range);
    for (const chart of this.charts) chart.update(points, range);
    if (this.frame) this.heat.update(this.frame.slots);
    if (this.details && this.details !== this.shownDetails) {
      this.shownDetails = this.details;
      this.heat.own(this.details.owners);
      this.prepare.update(this.details);
      this.showForecast();
    }
  }

  showForecast() {
    const drained = this.drainPerMinute();
    const bars = this.details.forecast.map((number, minute) => [
      fill(gettext("+%(m)s min"), { m: minute + 1 }),
      number,
      minute % 5 === 4,
    ]);
    const note =
      drained === null
        ? gettext("No drain rate measured yet.")
        : fill(gettext("The line is what was drained per minute lately: %(n)s."), { n: count(drained) });
    this.forecast.update(bars, note, drained);
  }

  /** Messages acknowledged per minute, over the last minute. */
  drainPerMinute() {
    const rates = this.series
      .since(60_000)
      .map((point) => point[AT.out_s])
      .filter((value) => value !== null);
    if (rates.length < 5) return null;
    return Math.round((rates.reduce((sum, value) => sum + value, 0) / rates.length) * 60);
  }
}
