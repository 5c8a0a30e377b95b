// Who owned which slot and when, as a picture: a line for each slot, time from left to right, coloured by owner.
import { h, replace, setText } from "../core/dom.js";
import { count, dateTime, duration, time } from "../core/format.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { color } from "../core/theme.js";
import { DAY } from "../time/timespan.js";
import { axisTicks, axisWords } from "./axiswords.js";
import { prepare } from "./canvas.js";
import { ChartPointer } from "./chartpointer.js";
import { ChartTable } from "./charttable.js";
import { courses, joined, ranges, stretchAt, together } from "./courses.js";
import { ownerColor, ownerInk, ownerNumber } from "./ownercolors.js";
import { OwnerLegend, ownerWord } from "./ownerlegend.js";
import { tableToggle } from "./tabletoggle.js";

/** @typedef {import("./courses.js").Stretch} Stretch */

const TALL = 15; // of a line, where there is room for numbers
const LOW = 3;
const TALLEST = 360;
const LABELS = 36; // at the left, for the slots
const AXIS = 20; // at the bottom, for the time
const STEPS = 60; // of an arrow key, over the whole width
const NUMBER_LEAST = 18; // pixels that a number takes
const TABLE_ROWS = 200;

export class OwnerPicture {
  /** @param {{ onZoom?: (from: number, to: number) => void, onMoment?: (at: number) => void }} acts */
  constructor(acts) {
    this.acts = acts;
    /** @type {Stretch[][]} */
    this.all = [];
    /** Those that are drawn, of `per` slots each. @type {Stretch[][]} */
    this.lines = [];
    this.per = 1;
    this.tall = TALL;
    this.width = 0;
    this.span = { from: 0, to: 1 };
    /** Where the pointer or the arrow keys are. @type {{ line: number, at: number } | null} */
    this.cursor = null;
    this.asTable = false;
    /** What is drawn now. @type {unknown[]} */
    this.shown = [];
    this.canvas = h("canvas", {
      class: "rc-owners",
      tabindex: "0",
      role: "application",
      "aria-label": gettext("Owners of the slots over time; move with the arrow keys, Enter looks at that moment"),
      onmousemove: (/** @type {MouseEvent} */ event) => this.point(this.placeOf(event)),
      onmouseleave: () => this.point(null),
      onblur: () => this.point(null),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
    });
    this.pointer = new ChartPointer(this.canvas, () => this.chart, acts);
    this.readout = h("p", { class: "rc-readout", "aria-live": "polite" });
    this.legend = new OwnerLegend(() => this.draw());
    this.toggle = tableToggle(() => this.switchView());
    this.table = new ChartTable([gettext("From"), gettext("Until"), gettext("Owner"), gettext("Slots")]);
    this.table.element.classList.add("rc-owner-table");
    this.more = h("p", { class: "rc-muted" });
    this.box = h("div", { class: "rc-heat-box" }, this.canvas);
    const title = gettext("Owners over time");
    this.element = h(
      "section",
      { class: "rc-card", "aria-label": title, hidden: true },
      h("header", {}, h("h2", {}, title), this.toggle),
      this.box,
      h("footer", { class: "rc-heat-foot" }, this.readout, this.legend.element),
    );
    new ResizeObserver(([entry]) => {
      this.width = entry.contentRect.width;
      this.draw();
    }).observe(this.box);
  }

  /**
   * @param {Api.Owning | null} kept
   * @param {Live.Owners | null} now
   * @param {import("../time/timespan.js").Span} span
   * @param {number | null} at a moment that is marked
   */
  update(kept, now, span, at) {
    const wanted = [kept, now, span.from, span.to, at];
    if (wanted.every((each, place) => each === this.shown[place])) return;
    this.shown = wanted;
    this.span = span;
    this.pointer.at = at;
    this.all = courses(kept, now, span);
    for (const name of [...(kept?.names ?? []), ...(now?.names ?? [])]) ownerNumber(name); // in that order
    const owned = this.all.some((course) => course.some(({ owner }) => owner !== null));
    this.element.hidden = !owned;
    if (owned) this.arrange();
  }

  arrange() {
    const slots = this.all.length;
    this.per = Math.max(1, Math.ceil((slots * LOW) / TALLEST));
    const lines = Math.ceil(slots / this.per);
    this.tall = Math.max(LOW, Math.min(TALL, Math.floor(TALLEST / lines)));
    this.lines = Array.from({ length: lines }, (_, line) => joined(this.slotsOf(line).map((slot) => this.all[slot])));
    this.showLegend();
    if (this.asTable) this.showTable();
    this.draw();
  }

  slotsOf(/** @type {number} */ line) {
    const first = line * this.per;
    return Array.from({ length: Math.min(this.per, this.all.length - first) }, (_, each) => first + each);
  }

  switchView() {
    this.asTable = !this.asTable;
    this.toggle.setAttribute("aria-pressed", String(this.asTable));
    if (this.asTable) {
      replace(this.box, this.table.element, this.more);
      this.showTable();
    } else replace(this.box, this.canvas);
    this.draw();
  }

  // The picture.

  get height() {
    return this.lines.length * this.tall;
  }

  x(/** @type {number} */ at) {
    return LABELS + ((at - this.span.from) / (this.span.to - this.span.from)) * (this.width - LABELS);
  }

  time(/** @type {number} */ pixel) {
    const part = Math.min(1, Math.max(0, (pixel - LABELS) / Math.max(1, this.width - LABELS)));
    return this.span.from + part * (this.span.to - this.span.from);
  }

  /** As the pointer of charts wants one. */
  get chart() {
    if (!this.context || !this.width) return null;
    return {
      ctx: this.context,
      chartArea: { left: LABELS, right: this.width, top: 0, bottom: this.height },
      scales: {
        x: {
          min: this.span.from,
          max: this.span.to,
          getValueForPixel: (/** @type {number} */ pixel) => this.time(pixel),
          getPixelForValue: (/** @type {number} */ at) => this.x(at),
        },
      },
      draw: () => this.draw(),
    };
  }

  /** Draws with the next frame, once however often it is asked to. */
  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.showReadout();
      if (this.width && !this.asTable && !this.element.hidden) this.paint();
    });
  }

  paint() {
    const { width, height, tall } = this;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height + AXIS}px`;
    const context = prepare(this.canvas, width, height + AXIS);
    this.context = context;
    const gap = tall > 5 ? 1 : 0;
    const hatch = hatched(context);
    context.font = "11px Inter, sans-serif";
    context.textBaseline = "middle";
    for (const [line, course] of this.lines.entries())
      for (const { from, to, owner } of course) {
        const left = Math.max(LABELS, this.x(from));
        const wide = Math.max(1, Math.min(width, this.x(to)) - left);
        const faded = this.legend.only !== null && owner !== this.legend.only;
        context.globalAlpha = faded ? 0.15 : 1;
        context.fillStyle = owner === null ? (hatch ?? color("--rc-heat-0")) : ownerColor(owner);
        context.fillRect(left, line * tall, wide, tall - gap);
        if (owner === null || tall < TALL || wide < NUMBER_LEAST) continue;
        context.fillStyle = ownerInk(owner);
        context.fillText(String(ownerNumber(owner)), left + 4, line * tall + tall / 2);
      }
    context.globalAlpha = 1;
    this.paintAxes(context);
    this.paintCursor(context);
    this.pointer.paint(this.chart);
  }

  paintAxes(/** @type {CanvasRenderingContext2D} */ context) {
    context.fillStyle = color("--rc-muted");
    context.textAlign = "right";
    const every = Math.ceil(14 / this.tall);
    for (let line = 0; line < this.lines.length; line += every)
      context.fillText(String(line * this.per), LABELS - 6, line * this.tall + Math.max(this.tall / 2, 6));
    context.textAlign = "center";
    for (const at of axisTicks(this.span, this.width - LABELS)) {
      const words = axisWords(at, this.span);
      const half = context.measureText(words).width / 2;
      context.fillText(words, Math.min(this.width - half, Math.max(LABELS + half, this.x(at))), this.height + AXIS / 2);
    }
    context.textAlign = "left";
  }

  paintCursor(/** @type {CanvasRenderingContext2D} */ context) {
    if (!this.cursor) return;
    const { line, at } = this.cursor;
    context.strokeStyle = color("--rc-strong");
    context.lineWidth = 1.5;
    context.strokeRect(LABELS, line * this.tall, this.width - LABELS - 1, this.tall - 1);
    context.beginPath();
    context.moveTo(this.x(at), 0);
    context.lineTo(this.x(at), this.height);
    context.stroke();
  }

  // Where one points.

  placeOf(/** @type {MouseEvent} */ { offsetX, offsetY }) {
    const line = Math.floor(offsetY / this.tall);
    return offsetX < LABELS || line >= this.lines.length ? null : { line, at: this.time(offsetX) };
  }

  point(/** @type {{ line: number, at: number } | null} */ place) {
    if (!place && !this.cursor) return;
    this.cursor = place;
    this.draw();
  }

  key(/** @type {KeyboardEvent} */ event) {
    const { from, to } = this.span;
    const { line, at } = this.cursor ?? { line: 0, at: this.pointer.at ?? to };
    const step = (to - from) / STEPS;
    if (event.key === "Enter" || event.key === " ") this.acts.onMoment?.(at);
    else if (event.key === "ArrowUp") this.point({ line: Math.max(0, line - 1), at });
    else if (event.key === "ArrowDown") this.point({ line: Math.min(this.lines.length - 1, line + 1), at });
    else if (event.key === "ArrowLeft" && event.shiftKey) this.point({ line, at: this.handover(line, at, -1) });
    else if (event.key === "ArrowRight" && event.shiftKey) this.point({ line, at: this.handover(line, at, 1) });
    else if (event.key === "ArrowLeft") this.point({ line, at: Math.max(from, at - step) });
    else if (event.key === "ArrowRight") this.point({ line, at: Math.min(to, at + step) });
    else if (event.key === "Home") this.point({ line, at: from });
    else if (event.key === "End") this.point({ line, at: to });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * When that line changed hands next, or before; where it did not, the end of the span.
   * @param {number} line
   * @param {number} at
   * @param {1 | -1} way
   */
  handover(line, at, way) {
    const moments = this.lines[line].map(({ from }) => from).filter((from) => from > this.span.from);
    if (way > 0) return moments.find((from) => from > at) ?? this.span.to;
    return moments.findLast((from) => from < at) ?? this.span.from;
  }

  // What it says.

  showReadout() {
    const { cursor } = this;
    const words = cursor
      ? this.wordsOf(cursor.line, cursor.at)
      : fill(ngettext("%(n)s slot", "%(n)s slots", this.all.length), { n: count(this.all.length) });
    setText(this.readout, words);
  }

  /**
   * @param {number} line
   * @param {number} at
   */
  wordsOf(line, at) {
    const slots = this.slotsOf(line);
    const when = this.moment(at);
    if (slots.length > 1) {
      const parts = [...this.numbers(slots, at)].map(([owner, n]) =>
        fill(gettext("%(owner)s (%(n)s)"), { owner: ownerWord(owner), n: count(n) }),
      );
      return fill(gettext("Slots %(slots)s · %(time)s · %(owners)s"), {
        slots: ranges(slots),
        time: when,
        owners: parts.join(", ") || gettext("not known"),
      });
    }
    const stretch = stretchAt(this.all[slots[0]], at);
    if (!stretch)
      return fill(gettext("Slot %(slot)s · %(time)s · %(owner)s"), {
        slot: slots[0],
        time: when,
        owner: gettext("not known"),
      });
    const { from, to, owner } = stretch;
    return fill(gettext("Slot %(slot)s · %(time)s · %(owner)s, from %(from)s to %(to)s (%(length)s)"), {
      slot: slots[0],
      time: when,
      owner: ownerWord(owner),
      from: this.moment(from),
      to: this.moment(to),
      length: duration(to - from),
    });
  }

  moment(/** @type {number} */ at) {
    return (this.span.to - this.span.from < DAY / 2 ? time : dateTime)(at);
  }

  /**
   * Of these slots how many each owner has at a moment.
   * @param {Iterable<number>} slots
   * @param {number} at
   */
  numbers(slots, at) {
    /** @type {Map<string | null, number>} */
    const numbers = new Map();
    for (const slot of slots) {
      const stretch = stretchAt(this.all[slot], at);
      if (stretch) numbers.set(stretch.owner, (numbers.get(stretch.owner) ?? 0) + 1);
    }
    return numbers;
  }

  /** Owners with what they own at the moment that is looked at. */
  showLegend() {
    this.legend.update(this.all, this.numbers(this.all.keys(), this.pointer.at ?? this.span.to));
  }

  showTable() {
    const rows = together(this.all);
    this.table.update(
      rows
        .slice(0, TABLE_ROWS)
        .map(([key, { from, to, owner, slots }]) => [
          key,
          this.moment(from),
          this.moment(to),
          ownerWord(owner),
          ranges(slots),
        ]),
    );
    const words = fill(gettext("The newest %(n)s of %(all)s."), { n: TABLE_ROWS, all: count(rows.length) });
    setText(this.more, rows.length > TABLE_ROWS ? words : "");
  }
}

/** Slanted lines: nobody's, whatever colours one sees. */
function hatched(/** @type {CanvasRenderingContext2D} */ context) {
  const tile = h("canvas", { width: 6, height: 6 });
  const pen = tile.getContext("2d");
  if (!pen) return null;
  pen.fillStyle = color("--rc-heat-0");
  pen.fillRect(0, 0, 6, 6);
  pen.strokeStyle = color("--rc-muted");
  pen.beginPath();
  for (const at of [-3, 3, 9]) {
    pen.moveTo(at - 4, 7);
    pen.lineTo(at + 4, -1);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}
