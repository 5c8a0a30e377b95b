// How operations are spoken of: actions, states, reasons, and the query they work on.
import { dateTime, duration, exact } from "../core/format.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { STATES } from "../parts/states.js";
import { REPAIRS } from "../runs/runwords.js";

/** @type {Record<string, string>} */
export const OPERATION_ACTIONS = {
  cancel: gettext("Cancel"),
  run_now: gettext("Run now"),
  reschedule: gettext("Reschedule"),
  requeue: gettext("Requeue"),
  drop: gettext("Drop"),
  restore: gettext("Restore"),
  repair: gettext("Repair"),
};

/** @type {Record<string, string>} */
export const OPERATION_STATES = {
  queued: gettext("Queued"),
  running: gettext("Running"),
  stopping: gettext("Stopping"),
  stopped: gettext("Stopped"),
  done: gettext("Done"),
  failed: gettext("Failed"),
};

/** @type {Record<string, string>} */
export const NOT_DONE = {
  not_found: gettext("no longer there"),
  in_flight: gettext("in flight"),
  replaced: gettext("taken out again by others"),
  moved: gettext("left as before, moved or sent anew since it was shown"),
  expires_first: gettext("left as before, expiring before delivery"),
  gone: gettext("left as before, its entry was deleted"),
  interrupted: gettext("done just before a worker ended, or gone"),
};

const QUEUED_LONG_MS = 15_000;

export const isLive = (/** @type {{ state: string }} */ operation) =>
  ["queued", "running", "stopping"].includes(operation.state);

/** What a filter matches, in words, exactly. */
export function querySentence(/** @type {Record<string, any>} */ filter) {
  const words = [fill(gettext("every message that is %(state)s"), { state: STATES[filter.state] ?? filter.state })];
  if (filter.text) words.push(fill(gettext("has “%(text)s” in its id or content"), { text: filter.text }));
  if (filter.where) words.push(fill(gettext("its content fulfils “%(where)s”"), { where: filter.where }));
  if (filter.error) words.push(fill(gettext("failed with “%(text)s” in the error"), { text: filter.error }));
  if (filter.fingerprint)
    words.push(fill(gettext("belongs to the cluster “%(cluster)s”"), { cluster: filter.fingerprint }));
  if (filter.tenant) words.push(fill(gettext("is of the tenant “%(tenant)s”"), { tenant: filter.tenant }));
  if (filter.tenant === "") words.push(gettext("names no tenant"));
  if (filter.slot !== undefined && filter.slot !== null)
    words.push(fill(gettext("is in slot %(slot)s"), { slot: filter.slot }));
  if (filter.since_ms) words.push(fill(gettext("from %(time)s on"), { time: dateTime(filter.since_ms) }));
  if (filter.until_ms) words.push(fill(gettext("until %(time)s"), { time: dateTime(filter.until_ms) }));
  return words.join(" · ");
}

/** The messages an operation works on, in words. */
export function subject(/** @type {Api.OperationView} */ operation) {
  if (operation.undoes) return gettext("what another operation removed");
  if (operation.filter) return querySentence(operation.filter);
  return fill(ngettext("%(n)s message, named", "%(n)s messages, named", operation.named), {
    n: exact(operation.named),
  });
}

/** How fast, how carefully, to what: the rest of a request, in words. */
export function manner(/** @type {Api.OperationView} */ operation) {
  const words = [];
  if (operation.values.repair) words.push(REPAIRS[operation.values.repair] ?? operation.values.repair);
  if (operation.values.due_ms) words.push(fill(gettext("to %(time)s"), { time: dateTime(operation.values.due_ms) }));
  if (operation.values.priority)
    words.push(fill(gettext("to priority %(priority)s"), { priority: exact(operation.values.priority) }));
  if (operation.values.overdue === false) words.push(gettext("without those whose time has gone by"));
  if (operation.canary) words.push(fill(gettext("a canary of %(n)s first"), { n: exact(operation.canary.size) }));
  if (operation.rate_per_s) words.push(fill(gettext("at most %(rate)s/s"), { rate: exact(operation.rate_per_s) }));
  if (operation.spread_ms) words.push(fill(gettext("spread over %(time)s"), { time: duration(operation.spread_ms) }));
  return words.join(" · ");
}

/** What it is doing right now, where that is not simply working. */
export function phase(/** @type {Api.OperationView} */ operation, /** @type {number} */ nowMs) {
  const canary = operation.canary;
  if (operation.state === "queued" && nowMs - operation.created_ms > QUEUED_LONG_MS && !operation.started_ms)
    return gettext("No job worker has taken it yet: is “manage.py jobs default” running?");
  if (!isLive(operation) || !canary || canary.phase === "passed" || operation.state === "queued") return "";
  if (canary.phase === "sending") return gettext("Sending the canary.");
  return fill(gettext("Waiting for the canary: %(well)s of %(sent)s ended well, %(way)s under way."), {
    well: exact(canary.well),
    sent: exact(canary.sent),
    way: exact(canary.under_way),
  });
}
