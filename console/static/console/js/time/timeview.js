// Which time a page shows: the last minutes as they pass, or a span that stands still, and a moment in it. In the address.
import { param, setParams } from "../core/address.js";
import { LIVE_MOST, MINUTE, moved, read, within, written, zoomed } from "./timespan.js";

/** Minutes, up to now. */
export const RANGES = ["1", "5", "15", "60", "360", "1440", "10080", "43200", "527040"];
const DEFAULT = "5";

export class TimeView {
  /**
   * @param {() => number} now the server's clock
   * @param {() => void} onChange
   */
  constructor(now, onChange) {
    this.now = now;
    this.onChange = onChange;
    const range = param("range", DEFAULT);
    this.range = RANGES.includes(range) ? range : DEFAULT;
    /** A span that stands still; null while the page follows the clock. @type {import("./timespan.js").Span | null} */
    this.fixed = null;
    /** The moment that is replayed; null: now. @type {number | null} */
    this.at = null;
    const [from, to, at] = [read(param("from")), read(param("to")), read(param("at"))];
    if (from !== null && to !== null && from < to) this.fixed = within({ from, to }, Math.max(to, now()));
    else if (at !== null) this.fixed = around(at, this.length(), now());
    if (at !== null && this.fixed) this.at = Math.min(this.fixed.to, Math.max(this.fixed.from, at));
  }

  length() {
    return Number(this.range) * MINUTE;
  }

  /** @returns {import("./timespan.js").Span} */
  span() {
    const now = this.now();
    return this.fixed ?? { from: now - this.length(), to: now };
  }

  /** Whether the points that are pushed are all it takes. */
  get pushed() {
    return !this.fixed && this.length() <= LIVE_MOST;
  }

  follow(/** @type {string} */ range) {
    this.range = range;
    this.fixed = this.at = null;
    this.changed();
  }

  show(/** @type {import("./timespan.js").Span} */ span) {
    this.fixed = within(span, this.now());
    if (this.at !== null && (this.at < this.fixed.from || this.at > this.fixed.to)) this.at = null;
    this.changed();
  }

  zoom(/** @type {number} */ factor) {
    this.show(zoomed(this.span(), factor, this.now(), this.at));
  }

  move(/** @type {number} */ share) {
    this.show(moved(this.span(), share, this.now()));
  }

  /** Look at a moment; null: at no moment any more, the span stays. */
  replay(/** @type {number | null} */ at) {
    this.fixed ??= this.span();
    this.at = at === null ? null : Math.round(Math.min(this.fixed.to, Math.max(this.fixed.from, at)));
    this.changed();
  }

  changed() {
    const { fixed, at } = this;
    const values = {
      range: fixed ? "" : this.range,
      from: fixed ? written(fixed.from) : "",
      to: fixed ? written(fixed.to) : "",
      at: at === null ? "" : written(at),
    };
    setParams(values, { range: DEFAULT });
    this.onChange();
  }
}

/** A span with a moment in its middle, as a link to an incident gives it. */
const around = (/** @type {number} */ at, /** @type {number} */ length, /** @type {number} */ now) =>
  within({ from: at - length / 2, to: at + length / 2 }, Math.max(at, now));
