// What is said of an id that is no longer in the queue: what the record knows of it.
import { dateTime } from "../core/format.js";
import { fill, gettext } from "../core/text.js";
import { STATES } from "../parts/states.js";

/** @type {Record<string, string>} */
const ENDED = {
  done: gettext("Done %(time)s"),
  cancelled: gettext("Cancelled %(time)s"),
  dropped: gettext("Dropped %(time)s"),
  expired: gettext("Expired %(time)s"),
  outdated: gettext("Outdated %(time)s: a newer version had been handed out"),
};

/** How one record of the id ended, or where it was last seen: the record comes a moment after the queue. */
export function endWords(/** @type {Api.Recorded} */ record) {
  const time = dateTime(record.ended_ms ?? record.updated_ms);
  if (record.state in ENDED) return fill(ENDED[record.state], { time });
  const state = STATES[record.state] ?? gettext("in an unknown state");
  return fill(gettext("Last recorded %(time)s: %(state)s"), { time, state });
}

/** `records`: what the record has of an id, one per slot that knew it. */
export function goneWords(/** @type {Api.Recorded[]} */ records) {
  if (!records.length)
    return gettext(
      "No message has this id; neither the record nor the archive knows it. They do not know what ended while the topic's journal was off.",
    );
  return `${records.map(endWords).join("; ")}.`;
}
