// States of a window, in words and signs; and when it began, in UTC.
import { gettext } from "../core/text.js";

/** The worst first. @type {Record<string, string>} */
export const STATES = {
  findings: gettext("with findings"),
  incomplete: gettext("incomplete"),
  complete: gettext("complete"),
  unverified: gettext("nothing verified"),
};
/** So that colour is not the only signal. @type {Record<string, string>} */
export const SIGNS = { findings: "!", incomplete: "~", complete: "✓", unverified: "·" };

const LAST_DAY = Date.UTC(9999, 11, 30);

/** When a day of an address begins; null of what is none, or of which nothing can be asked. */
export function dayOf(/** @type {string} */ text) {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return ms >= 0 && ms <= LAST_DAY && dayText(ms) === text ? ms : null;
}

/** 2026-11-24 */
export const dayText = (/** @type {number} */ ms) => new Date(ms).toISOString().slice(0, 10);

/** 2026-11-24 09:00 UTC */
export const hourText = (/** @type {number} */ ms) => `${dayText(ms)} ${new Date(ms).toISOString().slice(11, 16)} UTC`;
