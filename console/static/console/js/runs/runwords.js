// How runs of the pipeline are spoken of.

import { exact } from "../core/format.js";
import { fill, gettext, ngettext } from "../core/text.js";

/** @type {Record<string, string>} */
export const JOBS = {
  reconcile: gettext("Reconciliation"),
  archive: gettext("Archive"),
  restore: gettext("Restore"),
  erase: gettext("Erasure"),
};

/** What can be started with a dialog that asks for topics alone. */
export const STARTED = ["reconcile", "archive", "restore"];

/** @type {Record<string, string>} */
export const STAGES = {
  start: gettext("Starting Spark"),
  look: gettext("Looking for what has moved"),
  snapshot: gettext("Reading the queues"),
  journals: gettext("Reading the journals"),
  replay: gettext("Replaying every message"),
  findings: gettext("Comparing, and checking again"),
  report: gettext("Writing the report"),
  console: gettext("Taking the report in"),
  archive: gettext("Writing the archive"),
  compact: gettext("Joining small files"),
  read: gettext("Reading the archive"),
  restore: gettext("Putting messages back"),
  find: gettext("Looking for the messages"),
  mentions: gettext("Looking for what others say of them"),
  check: gettext("Looking for those that Redis still has"),
  rewrite: gettext("Writing their days anew"),
  forget: gettext("Forgetting them"),
  remove: gettext("Removing what was replaced"),
};

/** @type {Record<string, string>} */
export const FINDINGS = {
  lost: gettext("Lost: accepted, not ended, and not where it must be"),
  unexpected: gettext("In a queue though its journal says it is not"),
  wrong_slot: gettext("In the wrong slot"),
  missing_content: gettext("Its content is gone"),
  altered: gettext("Other values or content than its journal says"),
  stuck_in_prepare: gettext("Stuck in flight"),
  overdue: gettext("Overdue"),
  orphan_body: gettext("Content without a message"),
  orphan_failure: gettext("Failure record without a message"),
  delivered_after_success: gettext("Delivered again after success"),
  ended_twice: gettext("Ended twice"),
  impossible_transition: gettext("An impossible step"),
  slot_ledger: gettext("A slot's counters do not add up"),
  wrong_position: gettext("The group stands elsewhere than its journal says"),
  journal_gap: gettext("Gap in a journal"),
  missing_in_queue: gettext("In the business ledger, never sent"),
  not_done: gettext("The business ledger expects it done"),
  not_as_expected: gettext("Not as the business ledger expects"),
  unknown_to_business: gettext("Unknown to the business ledger"),
};

const AFRESH = gettext(
  "Switched off and on again while the topic is empty, a journal starts again and is whole from there.",
);

/** Why a journal does not tell everything, and what to do. @type {Record<string, string>} */
export const GAPS = {
  trimmed: `${gettext("It was read and trimmed before anything was archived: archive the topic on schedule.")} ${AFRESH}`,
  elsewhere: gettext("It was archived, but not where this run looked: give it that archive."),
  past: `${gettext("The journal was switched on while messages were there.")} ${AFRESH}`,
  off: gettext("The journal is off: switch it on, best while the topic is empty."),
  missing: `${gettext("Entries were trimmed by hand, lost with a server, or lost with the archive, of which an older copy was put back.")} ${AFRESH}`,
  file: gettext(
    "The archive had them and has lost them: bring its files back from a backup. Or somebody had deleted them from the middle of the journal before it was archived.",
  ),
  slot: gettext("The archive has nothing of this slot any more: bring its files back from a backup."),
  unwatched: gettext("Its journal was off while it was worked off: nobody knows what has ended since."),
  doubled: gettext("The archive holds entries twice: somebody has copied folders of it. Take the copies away."),
  forked: `${gettext("The server has lost the end of its journal, and gone on with the same numbers (or somebody has added entries of the journal to it again): messages that came at that time may be lost, or come twice.")} ${AFRESH}`,
  unmarked: `${gettext("Somebody has taken away what the slot had counted, and with that how far its journal was: nobody knows what came since.")} ${AFRESH}`,
  reshaped: gettext(
    "Its slots were made with another definition of the topic (kind, number of slots, time of creation): somebody has changed that by hand, and calls are refused. Put it back as it was.",
  ),
  redefined: gettext(
    "The topic is here with another kind or number of slots than the archive has it: nothing of it fits into these. What was there at a moment before, a rehearsal shows.",
  ),
  undefined: gettext(
    "The archive has this topic, and the server does not know it, though nobody deleted it: restore it. Of a stream nothing is put back: what its journal told stays in the archive.",
  ),
  unjournaled: `${gettext("The journal is on, and this slot has lost the mark that says so: nobody knows what came since.")} ${AFRESH}`,
  restarted: gettext("The server has lost the end of its journal: restore what the archive holds."),
};

/** @type {Record<string, string>} */
export const REPAIRS = {
  requeue: gettext("Put back"),
  requeue_dead: gettext("Requeue the dead letter"),
  set_right: gettext("Set it to what the journal says"),
  move: gettext("Move it to its slot"),
  take_stock: gettext("Record its present state in the journal"),
  correct_counters: gettext("Correct the counters"),
  send_again: gettext("Send again"),
  drop_orphan: gettext("Remove what is left of it"),
  none: gettext("Has to be looked at"),
};

export const OUTCOMES = {
  done: gettext("would be repaired"),
  not_needed: gettext("need nothing any more"),
  unknown: gettext("cannot be repaired: nobody knows the content (the journal must be “full”)"),
};

export const isLive = (/** @type {{ state: string }} */ run) => ["queued", "running", "stopping"].includes(run.state);

/** What a run is about. */
export function scope(
  /** @type {{ topics: string[], ledger: string, into?: string, dry_run?: boolean, from_scratch?: boolean }} */ run,
) {
  const parts = [run.topics.length ? run.topics.join(", ") : gettext("all topics")];
  if (run.ledger) parts.push(fill(gettext("ledger %(name)s"), { name: run.ledger }));
  if (run.from_scratch) parts.push(gettext("from scratch"));
  if (run.into) parts.push(fill(gettext("rehearsal in %(name)s"), { name: run.into }));
  if (run.dry_run) parts.push(gettext("only counted"));
  return parts.join(" · ");
}

/**
 * Copies of messages that a restore puts back, by the state they were in.
 * @type {Record<string, string>}
 */
export const COPIES = {
  waiting: gettext("waiting"),
  retrying: gettext("retrying"),
  in_flight: gettext("in flight"),
  dead: gettext("dead"),
  without_content: gettext("stay away: no journal holds their content"),
};

/** What a run in the queue waits for. */
function waitsFor(/** @type {Api.Waited | null} */ before) {
  if (!before) return gettext("Waits for a job worker");
  const stage = STAGES[before.stage] ?? before.stage;
  return fill(gettext("Waits for: %(run)s"), { run: [JOBS[before.kind], stage].filter(Boolean).join(" · ") });
}

/** What came of a run, in words. */
export function outcome(
  /** @type {Api.Run & { restored?: Api.Detail["restored"], erased?: Api.Detail["erased"] }} */ run,
) {
  if (run.error) return run.error;
  if (run.state === "queued") return waitsFor(run.waits_for);
  if (run.state === "done" && run.restored) {
    const { back, present } = run.restored;
    if (run.dry_run) return fill(gettext("%(n)s would be put back"), { n: exact(back) });
    return fill(gettext("%(n)s put back, %(present)s were there already"), { n: exact(back), present: exact(present) });
  }
  if (run.state === "done" && run.erased) {
    const n = exact(run.erased.messages);
    return fill(run.dry_run ? gettext("Messages to be erased: %(n)s") : gettext("Messages erased: %(n)s"), { n });
  }
  if (run.state !== "done" || run.kind !== "reconcile") return "";
  const words = run.findings
    ? fill(ngettext("%(n)s finding", "%(n)s findings", run.findings), { n: exact(run.findings) })
    : gettext("Everything is where it should be.");
  return run.complete === false ? `${words} · ${gettext("incomplete: journals have gaps")}` : words;
}
