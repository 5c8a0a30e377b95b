// Recurring messages in words.
import { duration } from "../core/format.js";
import { fill, gettext } from "../core/text.js";

/** @type {Record<string, string>} */
export const HOW = {
  on_time: gettext("on time"),
  late: gettext("late"),
  skipped: gettext("skipped"),
  by_hand: gettext("by hand"),
};
/** @type {Record<string, string>} */
export const HOW_TAGS = { on_time: "good", late: "warn", skipped: "neutral", by_hand: "neutral" };
/** @type {Record<string, string>} */
export const MISFIRES = {
  skip: gettext("send none of them"),
  once: gettext("send the last"),
  all: gettext("send each"),
};

/** When its ticks are. */
export function rhythm(/** @type {Api.RecurringOut} */ item) {
  if (item.cron) return fill(gettext("%(cron)s in %(zone)s"), { cron: item.cron, zone: item.time_zone });
  return fill(gettext("every %(time)s"), { time: duration(item.every_ms) });
}

/** What it is doing. */
export function condition(/** @type {Api.RecurringOut} */ item) {
  if (item.error) return ["dead", gettext("Fails")];
  if (!item.enabled) return ["neutral", gettext("Disabled")];
  if (item.next_ms === null) return ["neutral", gettext("Ended")];
  return ["good", gettext("Active")];
}
