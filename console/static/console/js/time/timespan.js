// Spans of time that are looked at: zoomed, moved, and kept within what there is.
import { ahead, momentOf } from "../core/zone.js";

export const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 1440 * MINUTE;
export const LONGEST = 366 * DAY;
const SHORTEST = MINUTE;
/** Up to this long there is a point for each second, pushed by the keeper. */
export const LIVE_MOST = 15 * MINUTE;

/** @typedef {{ from: number, to: number }} Span */

/**
 * At least a minute, at most a year, not in the future, and whole milliseconds.
 * @param {Span} span
 * @param {number} now
 * @returns {Span}
 */
export function within({ from, to }, now) {
  const length = Math.min(LONGEST, Math.max(SHORTEST, to - from));
  const middle = (from + to) / 2;
  const end = Math.round(Math.min(now, Math.max(to, middle + length / 2)));
  return { from: Math.max(0, Math.round(end - length)), to: end };
}

/**
 * Around its middle, or around a moment in it.
 * @param {Span} span
 * @param {number} factor below 1: closer
 * @param {number} now
 * @param {number | null} [at]
 */
export function zoomed({ from, to }, factor, now, at = null) {
  const middle = at !== null && at >= from && at <= to ? at : (from + to) / 2;
  const length = (to - from) * factor;
  const share = (middle - from) / (to - from);
  return within({ from: Math.round(middle - share * length), to: Math.round(middle + (1 - share) * length) }, now);
}

/**
 * By a part of its length; negative: earlier.
 * @param {Span} span
 * @param {number} share
 * @param {number} now
 */
export function moved({ from, to }, share, now) {
  const by = Math.min(Math.round((to - from) * share), now - to);
  return within({ from: from + by, to: to + by }, now);
}

/** A moment in an address: ISO 8601 in UTC, to the second where that says it all. */
export const written = (/** @type {number} */ ms) => new Date(ms).toISOString().replace(".000Z", "Z");

/** Null where it is none. Milliseconds are taken as well. */
export function read(/** @type {string} */ text) {
  if (!text) return null;
  const found = /^\d{1,15}$/.test(text) ? Number(text) : /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isFinite(found) && found >= 0 ? found : null;
}

const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 345_600,
  604_800, 1_209_600, 2_592_000, 5_184_000, 10_368_000,
].map((seconds) => seconds * 1000);

/**
 * Round moments of the reader's own clock, at most so many.
 * @param {Span} span
 * @param {number} most
 * @param {number} [least] the shortest step
 */
export function ticks({ from, to }, most, least = 0) {
  const step = STEPS.find((each) => each >= least && (to - from) / each <= most) ?? STEPS[STEPS.length - 1];
  // Hours are as long as ever where the clocks are changed; days and parts of them begin on either side when a clock of
  // there says so, or a whole chart would be an hour beside its days.
  const moment = step > HOUR ? onTheWall : (/** @type {number} */ local) => local - ahead(to);
  const found = [];
  const first = from + ahead(step > HOUR ? from : to);
  for (let local = Math.ceil(first / step) * step, at = moment(local); at <= to; local += step, at = moment(local))
    if (at >= from) found.push(at);
  return found;
}

/** When the reader's clock says what one in UTC says at that moment. */
const onTheWall = (/** @type {number} */ local) => momentOf(new Date(local).toISOString().slice(0, -1));
