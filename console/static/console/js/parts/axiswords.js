// Moments along an axis: as much of date and time as tells them apart.
import { language } from "../core/page.js";
import { DAY, MINUTE } from "./timespan.js";

/** @type {Record<string, Intl.DateTimeFormatOptions>} */
const FORMS = {
  seconds: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  minutes: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  hours: { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  days: { month: "short", day: "numeric" },
  months: { year: "numeric", month: "short", day: "numeric" },
};
/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/** @param {number} ms @param {import("./timespan.js").Span} span */
export function axisWords(ms, { from, to }) {
  const name = formFor(to - from);
  const format = formats.get(name) ?? new Intl.DateTimeFormat(language, FORMS[name]);
  formats.set(name, format);
  return format.format(ms);
}

function formFor(/** @type {number} */ length) {
  if (length <= 20 * MINUTE) return "seconds";
  if (length <= DAY) return "minutes";
  if (length <= 8 * DAY) return "hours";
  return length <= 120 * DAY ? "days" : "months";
}
