// Every slot of a topic as a cell. Works with up to 4096 of them, with mouse and keyboard.
import { all, h, press, replace, setText } from "../core/dom.js";
import { count, duration, rate } from "../core/format.js";
import { fill, gettext } from "../core/text.js";
import { color } from "../core/theme.js";
import { prepare } from "./canvas.js";
import { ChartTable } from "./charttable.js";
import { OwnerScale } from "./ownerscale.js";
import { Scale } from "./scale.js";
import { tableToggle } from "./tabletoggle.js";

/** @typedef {(value: any) => string} Format */
/** @typedef {{ names: string[], of: number[] }} Owners */

/** @type {Record<string, [string, Format]>} */
export const METRICS = {
  backlog: [gettext("Backlog"), count],
  lag_ms: [gettext("Due lag"), duration],
  oldest_ms: [gettext("Oldest in flight"), duration],
  in_flight: [gettext("In flight"), count],
  dead: [gettext("Dead"), count],
  out_s: [gettext("Out/s"), rate],
  owner: [gettext("Owner"), (value) => value],
};
/** What the same is called of a stream: nothing waits in it, nothing is taken out. @type {Record<string, [string, Format]>} */
const OF_STREAM = { backlog: [gettext("Entries"), count], out_s: [gettext("In/s"), rate] };
const SMALLEST = 5;
const HANDY = 14; // for a finger
const LARGEST = 30;
const TALLEST = 360;
const TABLE_ROWS = 64;

export class HeatMap {
  /**
   * `onOpen(slot)` when a slot is chosen, `onMetric(name)` when another metric is; `kind`: of the topic.
   * @param {string} metric
   * @param {string} kind
   * @param {(slot: number) => void} onOpen
   * @param {(name: string) => void} onMetric
   */
  constructor(metric, kind, onOpen, onMetric) {
    this.metrics = kind === "stream" ? OF_STREAM : METRICS;
    this.metric = metric in this.metrics ? metric : "backlog";
    this.onOpen = onOpen;
    this.onMetric = onMetric;
    this.cursor = -1;
    this.marked = -1;
    /** @type {Live.SlotValues | null} */
    this.slots = null;
    /** Null where slots are shared. @type {Owners | null} */
    this.owners = null;
    this.legendShown = "";
    this.asTable = false;
    this.width = 0;
    this.columns = 1;
    this.cell = HANDY;
    /** @type {Scale | OwnerScale} */
    this.scale = new Scale(0);
    /** @type {ChartTable | null} */
    this.table = null;
    this.more = h("p", { class: "rc-muted" });
    this.canvas = h("canvas", {
      class: "rc-heat",
      tabindex: "0",
      role: "application",
      "aria-label": gettext("Slot heat map; move with the arrow keys, Enter opens a slot"),
      onmousemove: (/** @type {MouseEvent} */ event) => this.point(this.slotAt(event)),
      onmouseleave: () => this.point(-1),
      onclick: (/** @type {MouseEvent} */ event) => this.open(this.slotAt(event)),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      onblur: () => this.point(-1),
    });
    this.readout = h("p", { class: "rc-readout", "aria-live": "polite" });
    this.legend = h("div", { class: "rc-heat-legend" });
    this.segments = h(
      "div",
      { class: "rc-segments", role: "group", "aria-label": gettext("Metric") },
      Object.entries(this.metrics).map(([name, [label]]) =>
        h("button", { type: "button", dataset: { name }, onclick: () => this.choose(name) }, label),
      ),
    );
    this.toggle = tableToggle(() => this.switchView());
    this.box = h("div", { class: "rc-heat-box" }, this.canvas);
    this.element = h(
      "section",
      { class: "rc-card", "aria-label": gettext("Slots") },
      h("header", {}, h("h2", {}, gettext("Slots")), this.segments, this.toggle),
      this.box,
      h("footer", { class: "rc-heat-foot" }, this.readout, this.legend),
    );
    this.ownerButton = all(this.segments, "[data-name=owner]")[0];
    if (this.ownerButton) this.ownerButton.hidden = this.metric !== "owner";
    this.choose(this.metric);
    // Its width is given, not asked for: to ask makes the browser lay out everything that has changed so far.
    new ResizeObserver(([entry]) => {
      this.width = entry.contentRect.width;
      this.draw();
    }).observe(this.box);
  }

  choose(/** @type {string} */ name) {
    this.metric = name;
    press(this.segments, name);
    this.onMetric(name);
    this.draw();
  }

  switchView() {
    this.asTable = !this.asTable;
    this.toggle.setAttribute("aria-pressed", String(this.asTable));
    if (!this.asTable) replace(this.box, this.canvas);
    this.draw();
  }

  update(/** @type {Live.SlotValues | null} */ slots) {
    this.slots = slots;
    this.draw();
  }

  /** `owners`: {names, of: [place in names or -1]}, or null where slots are shared. */
  own(/** @type {Owners | null} */ owners) {
    this.owners = owners;
    if (this.ownerButton) this.ownerButton.hidden = !owners;
    if (!owners && this.metric === "owner") this.choose("backlog");
    this.draw();
  }

  mark(/** @type {number} */ slot) {
    this.marked = slot;
    this.draw();
  }

  get values() {
    return (this.metric === "owner" ? this.owners?.of : this.slots?.[this.metric]) ?? [];
  }

  get amount() {
    return this.slots?.backlog?.length ?? 0;
  }

  /** Draws with the next frame, once however often it is asked to. */
  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.drawNow();
    });
  }

  drawNow() {
    if (!this.amount) return;
    this.scale =
      this.metric === "owner"
        ? new OwnerScale(this.owners)
        : new Scale(this.values.reduce((most, value) => Math.max(most, value), 0));
    this.showLegend();
    this.showReadout();
    if (this.asTable) return this.drawTable();
    const width = this.width;
    if (!width) return;
    this.columns = this.fitting(width, HANDY);
    if (this.amount / this.columns > TALLEST / HANDY) this.columns = this.fitting(width, SMALLEST);
    this.cell = Math.min(LARGEST, width / this.columns);
    const height = Math.ceil(this.amount / this.columns) * this.cell;
    this.canvas.style.height = `${height}px`;
    this.canvas.style.width = `${this.columns * this.cell}px`;
    this.paint(prepare(this.canvas, this.columns * this.cell, height));
  }

  /** As many columns of at least that width as there is room for; a power of two, as the slots are. */
  fitting(/** @type {number} */ width, /** @type {number} */ cell) {
    return 2 ** Math.floor(Math.log2(Math.max(1, Math.min(this.amount, width / cell))));
  }

  paint(/** @type {CanvasRenderingContext2D} */ context) {
    const colors = this.scale.colors();
    const gap = this.cell > 5 ? 1 : 0;
    // Cells of one colour are drawn together: setting the colour is the slow part.
    const bySteps = Array.from({ length: colors.length }, () => /** @type {number[]} */ ([]));
    for (let slot = 0; slot < this.amount; slot += 1) bySteps[this.scale.step(this.values[slot])].push(slot);
    bySteps.forEach((slots, step) => {
      context.fillStyle = colors[step];
      for (const slot of slots) {
        const [left, top] = this.corner(slot);
        context.fillRect(left, top, this.cell - gap, this.cell - gap);
      }
    });
    for (const [slot, width] of [
      [this.marked, 2],
      [this.cursor, 1.5],
    ]) {
      if (slot < 0 || slot >= this.amount) continue;
      const [left, top] = this.corner(slot);
      context.strokeStyle = color(slot === this.marked ? "--rc-line-3" : "--rc-strong");
      context.lineWidth = width;
      context.strokeRect(left + 0.5, top + 0.5, this.cell - gap - 1, this.cell - gap - 1);
    }
  }

  corner(/** @type {number} */ slot) {
    return [(slot % this.columns) * this.cell, Math.floor(slot / this.columns) * this.cell];
  }

  slotAt(/** @type {MouseEvent} */ event) {
    const column = Math.floor(event.offsetX / this.cell);
    const slot = Math.floor(event.offsetY / this.cell) * this.columns + column;
    return column < this.columns && slot >= 0 && slot < this.amount ? slot : -1;
  }

  point(/** @type {number} */ slot) {
    if (slot === this.cursor) return;
    this.cursor = slot;
    this.draw();
  }

  open(/** @type {number} */ slot) {
    if (slot >= 0) this.onOpen(slot);
  }

  key(/** @type {KeyboardEvent} */ event) {
    const step = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: this.columns,
      ArrowUp: -this.columns,
      Home: -this.amount,
      End: this.amount,
    }[event.key];
    if (event.key === "Enter" || event.key === " ") this.open(Math.max(0, this.cursor));
    else if (step)
      this.point(Math.max(0, Math.min(this.amount - 1, Math.max(0, this.cursor) + (this.cursor < 0 ? 0 : step))));
    else return;
    event.preventDefault();
  }

  showReadout() {
    const [label] = this.metrics[this.metric];
    const slot = this.cursor;
    setText(
      this.readout,
      slot < 0
        ? fill(gettext("%(n)s slots"), { n: count(this.amount) })
        : fill(gettext("Slot %(slot)s · %(metric)s %(value)s"), {
            slot,
            metric: label,
            value: this.word(slot),
          }),
    );
  }

  word(/** @type {number} */ slot) {
    const value = this.values[slot] ?? null;
    return this.scale instanceof OwnerScale ? this.scale.word(value) : this.metrics[this.metric][1](value);
  }

  showLegend() {
    const [, format] = this.metrics[this.metric];
    const key = `${this.metric} ${this.scale.top}`;
    if (this.legendShown === key) return;
    this.legendShown = key;
    if (this.scale instanceof OwnerScale) return replace(this.legend, this.scale.legend());
    replace(
      this.legend,
      this.scale.bounds.map((bound, step) =>
        h(
          "span",
          {},
          h("i", { class: `rc-heat-step rc-heat-step-${step}`, "aria-hidden": "true" }),
          step ? `≤ ${format(bound)}` : "0",
        ),
      ),
    );
  }

  drawTable() {
    const [label] = this.metrics[this.metric];
    const order = [...this.values.keys()]
      .sort((one, other) => this.values[other] - this.values[one])
      .slice(0, TABLE_ROWS);
    if (!this.table?.element.isConnected || this.tableOf !== this.metric) {
      this.tableOf = this.metric;
      this.table = new ChartTable([gettext("Slot"), label], (slot) => this.onOpen(Number(slot)));
      replace(this.box, this.table.element, this.more);
    }
    this.table.update(order.map((slot) => [slot, fill(gettext("Slot %(slot)s"), { slot }), this.word(slot)]));
    const words = fill(gettext("The %(n)s largest of %(all)s."), { n: order.length, all: count(this.amount) });
    setText(this.more, this.amount > order.length ? words : "");
  }
}
