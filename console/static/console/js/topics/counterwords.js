// What the counters of a slot count.
import { gettext } from "../core/text.js";

/** @type {Record<string, string>} */
const WORDS = {
  sent: gettext("Sent"),
  merged: gettext("Merged"),
  taken: gettext("Taken"),
  acked: gettext("Acknowledged"),
  retried: gettext("Tried again"),
  expired: gettext("Timed out"),
  died: gettext("Died"),
  cancelled: gettext("Cancelled"),
  rescheduled: gettext("Rescheduled"),
  requeued: gettext("Requeued"),
  dropped: gettext("Dropped"),
  released: gettext("Given back"),
  extended: gettext("Given more time"),
  restored: gettext("Restored"),
  erased: gettext("Erased"),
  trimmed: gettext("Trimmed"),
  deleted: gettext("Deleted"),
  lapsed: gettext("Expired"),
  duplicate: gettext("Duplicates"),
  outdated: gettext("Outdated"),
  held: gettext("Held back"),
  lifted: gettext("Let go"),
};

export const counterWords = (/** @type {string} */ name) => WORDS[name] ?? name;
