// The Live tab: charts, slots, prepare queue, forecast.

import { HeatMap } from "../charts/heatmap.js";
import { LineChart } from "../charts/linechart.js";
import { OwnerPicture } from "../charts/ownerpicture.js";
import { param, setParams } from "../core/address.js";
import { byId, h, replace } from "../core/dom.js";
import { count, duration, rate } from "../core/format.js";
import { page } from "../core/page.js";
import { AT } from "../core/point.js";
import { gettext } from "../core/text.js";
import { onThemeChange } from "../core/theme.js";
import { ReplayBar } from "../parts/replaybar.js";
import { panelsOf, putOnScreen } from "../screens/putonscreen.js";
import { History } from "../time/history.js";
import { Past } from "../time/past.js";
import { Series } from "../time/series.js";
import { TimeBar } from "../time/timebar.js";
import { TimeView } from "../time/timeview.js";
import { PriorityBands } from "../topics/bands.js";
import { Forecast } from "../topics/forecast.js";
import { PrepareQueue } from "../topics/prepare.js";
import { openSlot } from "../topics/slotpanel.js";
import { Tenants } from "../topics/tenants.js";

/** @typedef {{ onZoom?: (from: number, to: number) => void, onMoment?: (at: number) => void }} Acts */
/** @typedef {import("../time/timespan.js").Span} Span */

const SECONDS_GAP_MS = 6000;
const OWNERS_MS = 20_000; // how often they are asked for; who owns what now is pushed
const SETTLED_MS = 120_000; // by then the keeper has written what there was

/**
 * Of what is taken and settled; a group reads what is ahead of it.
 * @param {boolean} group
 * @param {LineChart[]} lateness
 * @param {Acts} acts
 */
function queueCharts(group, lateness, acts) {
  return [
    new LineChart(
      gettext("Throughput per second"),
      [
        ["in_s", group ? gettext("read") : gettext("in")],
        ["out_s", gettext("out")],
        .../** @type {[string, string][]} */ (group ? [] : [["merged_s", gettext("merged")]]),
      ],
      rate,
      { acts },
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
      { acts },
    ),
    ...(group
      ? [new LineChart(gettext("Behind"), [["lag_ms", gettext("age of the next entry")]], duration, { acts })]
      : lateness),
    new LineChart(
      gettext("Failures"),
      [
        ["failed_s", gettext("failed/s")],
        ["dead", gettext("dead (right)")],
      ],
      rate,
      { right: ["dead"], acts },
    ),
  ];
}

function streamCharts(/** @type {Acts} */ acts) {
  return [
    new LineChart(gettext("Added per second"), [["in_s", gettext("added")]], rate, { acts }),
    new LineChart(gettext("Entries kept"), [["length", gettext("entries")]], count, { acts }),
  ];
}

export class LiveTab {
  /**
   * `onMoment`: what is shown is of another moment, or has come only now.
   * @param {import("../core/live.js").Live} live
   * @param {() => void} onMoment
   */
  constructor(live, onMoment) {
    this.live = live;
    this.onMoment = onMoment;
    /** The newest, and which of them is drawn. @type {Live.Details | null} */
    this.details = null;
    /** @type {Live.Details | null} */
    this.shownDetails = null;
    /** The topic as it was at the moment that is replayed; null: it is not, or nothing of it has come.
        @type {Live.PastFrame | null} */
    this.past = null;
    this.series = new Series();
    const { kind } = page.topic;
    this.stream = kind === "stream";
    this.queue = page.topic.timed && !this.stream && kind !== "group";
    this.view = new TimeView(
      () => live.nowMs(),
      () => this.changed(),
    );
    this.history = new History(page.topic.name, () => this.draw());
    this.pasts = new Past(page.topic.name, () => this.changed());
    this.bar = new TimeBar(this.view);
    this.bar.element.prepend(putOnScreen(panelsOf(page.topic.name)));
    this.replay = new ReplayBar(this.view, page.topic.name);
    /** @type {Acts} */
    const acts = {
      onZoom: (from, to) => this.view.show({ from, to }),
      onMoment: (at) => this.view.replay(at),
    };
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
            { log: true, acts },
          ),
        ]
      : [];
    this.charts = this.stream ? streamCharts(acts) : queueCharts(kind === "group", lateness, acts);
    this.heat = new HeatMap(
      param("metric", "backlog"),
      kind,
      (slot) => (this.live.replay ? this.heat.mark(slot) : this.open(slot)),
      (metric) => setParams({ metric }, { metric: "backlog" }),
    );
    this.owners = this.stream ? null : new OwnerPicture(acts);
    this.owned = new History(page.topic.name, () => this.draw(), { path: "/history/owners", often: OWNERS_MS });
    this.prepare = new PrepareQueue(live);
    this.forecast = new Forecast(live);
    this.bands = kind === "priority" ? new PriorityBands(live, { open: (slot) => this.open(slot) }).start() : null;
    this.tenants = this.stream || kind === "group" ? null : new Tenants(live);
    replace(
      byId("rc-tab"),
      this.bar.element,
      this.replay.element,
      h(
        "div",
        { class: "rc-grid" },
        this.charts.map((chart) => chart.element),
        this.queue || this.stream ? null : this.prepare.ages.element,
      ),
      this.heat.element,
      this.owners?.element,
      this.queue ? h("div", { class: "rc-grid" }, this.prepare.ages.element, this.forecast.element) : null,
      this.bands?.element,
      this.tenants?.element,
      this.stream ? null : this.prepare.oldest,
    );
    this.look();
    this.render();
    onThemeChange(() => {
      for (const chart of this.charts) chart.restyle();
      this.heat.draw();
      this.owners?.draw();
    });
    const slot = Number(param("slot", "-1"));
    if (Number.isInteger(slot) && slot >= 0 && slot < page.topic.slots) this.open(slot);
  }

  open(/** @type {number} */ slot) {
    openSlot(slot, this.live, () => this.heat.mark(-1));
    this.heat.mark(slot);
  }

  take(/** @type {Live.TopicMessage} */ message) {
    if (message.type === "history") this.series.load(message.points);
    if (message.type === "topic") {
      this.series.add(message.point);
      this.frame = message;
      this.tenants?.follow(message.topic.version);
    }
    if (message.type === "details") this.details = message;
  }

  /** Another span or moment is looked at. */
  changed() {
    this.look();
    this.draw();
    this.onMoment();
    this.live.look();
  }

  look() {
    const { at } = this.view;
    const back = () => this.view.follow(this.view.range);
    this.live.replay = at === null ? null : { at, back };
    this.past = at === null ? null : this.pasts.at(at);
    // The prepare queue and what will be due are of now alone.
    for (const each of [this.prepare.ages.element, this.prepare.oldest, this.forecast.element])
      each.hidden = at !== null;
    this.bands?.stand(at !== null);
    this.tenants?.stand(at !== null);
  }

  /** What somebody did is shown at once, also while updates are paused. */
  draw() {
    this.shownHistory = null;
    this.drawCharts();
  }

  drawCharts() {
    this.replay.update(this.past, this.pasts.problem);
    this.drawOwners();
    if (this.view.pushed) {
      this.bar.update(null);
      const points = this.series.since(this.view.length());
      const to = this.series.last?.[AT.at_ms] ?? this.view.now();
      this.shownHistory = null;
      return this.showCharts(points, { from: to - this.view.length(), to }, SECONDS_GAP_MS);
    }
    const { fixed, range } = this.view;
    const span = this.view.span();
    const key = fixed ? `${fixed.from} ${fixed.to}` : range;
    this.history.want(key, span, Boolean(fixed) && span.to < this.view.now() - SETTLED_MS);
    this.bar.update(this.history);
    const { found } = this.history;
    // Lines that stand still are drawn once, not with every frame.
    if (this.shownHistory === (found ?? key)) return;
    this.shownHistory = found ?? key;
    const gap = Math.max(2.5 * (found?.step_ms ?? 0), SECONDS_GAP_MS);
    this.showCharts(
      found?.points ?? [],
      fixed ?? { from: found?.from_ms ?? span.from, to: found?.to_ms ?? span.to },
      gap,
    );
  }

  /** As long as nobody owns anything, and none of it is looked at in the past, nobody asks. */
  drawOwners() {
    if (!this.owners || !(this.details?.owners || this.view.fixed)) return;
    const { fixed, range } = this.view;
    const now = this.view.now();
    const length = this.view.length();
    // To the second: what follows the clock is drawn once for each frame.
    const to = Math.floor(now / 1000) * 1000;
    const span = fixed ?? { from: to - length, to };
    const settled = Boolean(fixed) && span.to < now - SETTLED_MS;
    this.owned.want(fixed ? `${fixed.from} ${fixed.to}` : range, span, settled);
    this.owners.update(this.owned.found, settled ? null : (this.details?.owners ?? null), span, this.view.at);
  }

  /**
   * @param {number[][]} points
   * @param {Span} span
   * @param {number} gap
   */
  showCharts(points, span, gap) {
    for (const chart of this.charts) chart.update(points, span, gap, this.view.at);
  }

  render() {
    this.drawCharts();
    if (this.live.replay) return this.showPast();
    if (this.frame) this.heat.update(this.frame.slots);
    if (this.wasPast) {
      this.wasPast = false;
      this.shownDetails = null;
    }
    if (this.details && this.details !== this.shownDetails) {
      this.shownDetails = this.details;
      this.heat.own(this.details.owners);
      this.prepare.update(this.details);
      this.forecast.update(this.details.forecast, this.drainPerMinute());
    }
  }

  showPast() {
    this.wasPast = true;
    if (!this.past) return;
    this.heat.update(this.past.slots);
    this.heat.own(this.past.owners);
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
