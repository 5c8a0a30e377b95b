// Numbers and times as people read them: in the page's language, the reader's zone, and the separators they have chosen.
import { language, page } from "./page.js";
import { fill, gettext } from "./text.js";
import { WALL, zone } from "./zone.js";

/** Separators of thousands and of a fraction, by how 1234.5 is written. A narrow blank ends no line.
    @type {Record<string, { group: string, decimal: string }>} */
const SEPARATORS = {
  "1,234.5": { group: ",", decimal: "." },
  "1.234,5": { group: ".", decimal: "," },
  "1 234,5": { group: "\u202f", decimal: "," },
};

/**
 * Writes numbers; `chosen`: how 1234.5 is written, "" as the language has it.
 * @param {Intl.NumberFormatOptions} [options]
 * @param {string} [chosen]
 */
export function numberFormat(options = {}, chosen = page.preferences?.numbers ?? "") {
  const separators = SEPARATORS[chosen];
  // Some languages group from five digits on: who has chosen sees the thousands of all.
  const format = new Intl.NumberFormat(language, separators ? { useGrouping: "always", ...options } : options);
  if (!separators) return format;
  const write = (/** @type {Intl.NumberFormatPart} */ { type, value }) =>
    type === "group" || type === "decimal" ? separators[type] : value;
  return { format: (/** @type {number | bigint} */ value) => format.formatToParts(value).map(write).join("") };
}

const exactNumber = numberFormat();
const shortNumber = numberFormat({ notation: "compact", maximumFractionDigits: 1 });
const fraction = numberFormat({ maximumFractionDigits: 1 });
const finer = numberFormat({ maximumFractionDigits: 2 });
const clock = new Intl.DateTimeFormat(language, {
  timeZone: zone,
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
/** @type {Intl.DateTimeFormatOptions} */
const WHOLE = { ...WALL, timeZoneName: "short" };
const whole = new Intl.DateTimeFormat("en", { ...WHOLE, timeZone: zone });

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
  return `${finer.format(shown * 100)} %`;
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
  return ms ? written(ms, whole) : NONE;
}

/** The same in another zone. */
export const dateTimeIn = (/** @type {number} */ ms, /** @type {string} */ timeZone) =>
  written(ms, new Intl.DateTimeFormat("en", { ...WHOLE, timeZone }));

/**
 * @param {number} ms
 * @param {Intl.DateTimeFormat} format
 */
function written(ms, format) {
  const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
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
