// What is said of an id that is no longer in the queue: what the record knows of it.
import { dateTime } from "../core/format.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { STATES } from "../parts/states.js";

/** @type {Record<string, string>} */
const ENDED = {
  done: gettext("Done %(time)s"),
  cancelled: gettext("Cancelled %(time)s"),
  dropped: gettext("Dropped %(time)s"),
  expired: gettext("Expired %(time)s"),
  outdated: gettext("Outdated %(time)s: a newer version had been handed out"),
  lost: gettext("Lost with the server's data, as was found %(time)s"),
};

/** How one record of the id ended, or where it was last seen: the record comes a moment after the queue. */
export function endWords(/** @type {Api.Recorded} */ record) {
  const time = dateTime(record.ended_ms ?? record.updated_ms);
  if (record.state in ENDED) return fill(ENDED[record.state], { time });
  const state = STATES[record.state] ?? gettext("in an unknown state");
  return fill(gettext("Last recorded %(time)s: %(state)s"), { time, state });
}

/** Then what ended is nowhere. */
export const keepsNoJournal = () => page.topic.journal === "off";

export const journalAddress = () => topicAddress(page.topic.name.split("@")[0], "definition");

/** Of an id that is nowhere, in a topic without a journal. */
export const noJournalWords = () =>
  gettext(
    "It is not in the queue, and this topic keeps no journal: nothing is recorded of whether the id was ever here, or how it ended. Once the journal is on, what happens from then on is.",
  );

/** `records`: what the record has of an id, one per slot that knew it. */
export function goneWords(/** @type {Api.Recorded[]} */ records) {
  if (records.length) return `${records.map(endWords).join("; ")}.`;
  if (keepsNoJournal()) return noJournalWords();
  return gettext(
    "No message has this id; neither the record nor the archive knows it. They do not know what ended while the topic's journal was off.",
  );
}
