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

/** 2026-11-24 */
export const dayText = (/** @type {number} */ ms) => new Date(ms).toISOString().slice(0, 10);

/** 2026-11-24 09:00 UTC */
export const hourText = (/** @type {number} */ ms) => `${dayText(ms)} ${new Date(ms).toISOString().slice(11, 16)} UTC`;
