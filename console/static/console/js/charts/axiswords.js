// Moments along an axis: as much of date and time as tells them apart, and no more of them than there is room for.
import { language } from "../core/page.js";
import { zone } from "../core/zone.js";
import { DAY, MINUTE, ticks } from "../time/timespan.js";

/** Up to which length, how it is written, and about how many pixels that takes, with some room between.
    @type {[number, Intl.DateTimeFormatOptions, number][]} */
const FORMS = [
  [20 * MINUTE, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }, 80],
  [DAY, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }, 70],
  [4 * DAY, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" }, 140],
  [Number.POSITIVE_INFINITY, { month: "short", day: "numeric" }, 80],
];
/** @type {Map<number, Intl.DateTimeFormat>} */
const formats = new Map();

/** @param {number} ms @param {import("../time/timespan.js").Span} span */
export function axisWords(ms, span) {
  const [limit, options] = formOf(span);
  const format = formats.get(limit) ?? new Intl.DateTimeFormat(language, { ...options, timeZone: zone });
  formats.set(limit, format);
  return format.format(ms);
}

/** @param {import("../time/timespan.js").Span} span @param {number} width in pixels */
export function axisTicks(span, width) {
  return ticks(span, axisRoom(span, width), formOf(span)[0] > 4 * DAY ? DAY : 0);
}

/** For how many moments there is room. @param {import("../time/timespan.js").Span} span @param {number} width in pixels */
export const axisRoom = (span, width) => Math.max(1, Math.floor(width / formOf(span)[2]));

const formOf = (/** @type {import("../time/timespan.js").Span} */ { from, to }) =>
  /** @type {[number, Intl.DateTimeFormatOptions, number]} */ (FORMS.find(([limit]) => to - from <= limit));
