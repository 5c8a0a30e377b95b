// Numbers and times as people read them, in the page's language.
import { language } from "./page.js";
import { fill, gettext } from "./text.js";

const exactNumber = new Intl.NumberFormat(language);
const shortNumber = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
const fraction = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat(language, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const parts = new Intl.DateTimeFormat("en", {
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
  timeZoneName: "short",
});

export const NONE = "–";

/** What the API tells as text is a whole number beyond 2^53. @typedef {number | string | null | undefined} Whole */

/** A count: exact while it is short. */
export function count(/** @type {Whole} */ value) {
  if (value === null || value === undefined) return NONE;
  const number = Number(value);
  return Math.abs(number) < 100000 ? exactNumber.format(number) : shortNumber.format(number);
}

/** A count with every digit. */
export const exact = (/** @type {Whole} */ value) =>
  value === null || value === undefined ? NONE : exactNumber.format(typeof value === "string" ? BigInt(value) : value);

/** A rate per second. */
export function rate(/** @type {number | null | undefined} */ value) {
  if (value === null || value === undefined) return NONE;
  return value < 10 ? fraction.format(value) : count(Math.round(value));
}

/** A part of 1; nearly all is not all. */
export function percent(/** @type {number} */ part) {
  const shown = part < 1 && part > 0.9999 ? 0.9999 : part;
  return `${new Intl.NumberFormat(language, { maximumFractionDigits: 2 }).format(shown * 100)} %`;
}

/** A duration in ms. */
export function duration(/** @type {number | null | undefined} */ ms) {
  if (ms === null || ms === undefined) return NONE;
  const sign = ms < 0 ? "−" : "";
  const value = Math.abs(ms);
  if (value < 1000) return `${sign}${Math.round(value)} ms`;
  if (value < 60_000) return `${sign}${fraction.format(value / 1000)} s`;
  const seconds = Math.round(value / 1000);
  if (seconds < 3600) return sign + twoUnits(seconds, 60, "m", "s");
  if (seconds < 86_400) return sign + twoUnits(Math.round(seconds / 60), 60, "h", "m");
  return sign + twoUnits(Math.round(seconds / 3600), 24, "d", "h");
}

/**
 * @param {number} value
 * @param {number} per
 * @param {string} large
 * @param {string} small
 */
function twoUnits(value, per, large, small) {
  const rest = value % per;
  return rest ? `${Math.floor(value / per)} ${large} ${rest} ${small}` : `${value / per} ${large}`;
}

export const time = (/** @type {number | null | undefined} */ ms) => (ms ? clock.format(ms) : NONE);

/** Date, time and zone, the same in every language: 2013-02-08 11:02:03 UTC. */
export function dateTime(/** @type {number | null | undefined} */ ms) {
  if (!ms) return NONE;
  const part = Object.fromEntries(parts.formatToParts(ms).map(({ type, value }) => [type, value]));
  return `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}:${part.second} ${part.timeZoneName}`;
}

/** "in 3 m" or "2 h ago". */
export function relative(/** @type {number} */ ms, /** @type {number} */ nowMs) {
  const away = ms - nowMs;
  if (Math.abs(away) < 500) return gettext("now");
  return away > 0
    ? fill(gettext("in %(time)s"), { time: duration(away) })
    : fill(gettext("%(time)s ago"), { time: duration(-away) });
}

export function bytes(/** @type {number | null | undefined} */ value) {
  if (value === null || value === undefined) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let size = value;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${fraction.format(size)} ${units[unit]}`;
}

/** A moment as a field for local times has it: 19 letters of it tell seconds, 23 milliseconds. */
export const localText = (/** @type {number} */ ms, length = 19) =>
  new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, length);
