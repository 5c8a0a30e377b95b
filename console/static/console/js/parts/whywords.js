// What each reason says, in words: the codes are those of rmq_core/why/answer.py.
import { count, duration, rate } from "../core/format.js";
import { fill, gettext, ngettext } from "../core/text.js";

const HIDDEN = gettext("(hidden)");

/** Values as sentences show them. */
function shown(values) {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      if (value === null) return [name, HIDDEN];
      if (name.endsWith("_ms")) return [name, duration(value)];
      if (name.endsWith("_s")) return [name, rate(value)];
      return [name, typeof value === "number" ? count(value) : value];
    }),
  );
}

const failed = (v) =>
  ngettext(
    "It failed %(failures)s time, last with %(error)s.",
    "It failed %(failures)s times, last with %(error)s.",
    v.failures,
  );

/** Code → the sentence of its values, filled in by `fill`. @type {Record<string, (v: any) => string>} */
export const SENTENCES = {
  paused: () => gettext("It is paused: nothing is taken until somebody resumes it; %(ready)s ready."),
  paused_until: () => gettext("It is paused for %(left_ms)s more; %(ready)s ready."),
  no_worker: () => gettext("No worker listens to it; %(ready)s ready."),
  route_paused: () => gettext("The route %(route)s takes from it, and is paused; %(ready)s ready."),
  route_idle: () =>
    gettext("The route %(route)s takes from it, and nobody runs it: a keeper does, or rmq forward; %(ready)s ready."),
  route_failing: () =>
    gettext("The route %(route)s takes from it, and something keeps it from forwarding; %(ready)s ready."),
  worker_lost: () =>
    gettext("Its worker %(worker)s has been silent for %(silent_ms)s and no other listens to it; %(ready)s ready."),
  stopping: () => gettext("All of its workers are stopping, %(worker)s among them; %(ready)s ready."),
  drained: () =>
    gettext("All of its workers are drained, %(worker)s among them, so they take no slots; %(ready)s ready."),
  zookeeper_away: () =>
    gettext("No worker reaches ZooKeeper, %(worker)s for %(for_ms)s now, so none takes anything; %(ready)s ready."),
  needs_owner: () =>
    gettext(
      "%(slots)s of its slots may only be taken from by an owner, and its workers run without ZooKeeper; %(ready)s ready.",
    ),
  rate_limited: () =>
    gettext("Its rate limit of %(limit)s per second is used up; the %(ready)s that are ready need %(left_ms)s."),
  threads_busy: () => gettext("Its workers have all they can run: %(in_flight)s deliveries on %(threads)s threads."),
  old_definition: () =>
    gettext("The worker %(worker)s still goes by version %(version)s of the definition, not by %(current)s."),
  unowned: () => gettext("Slot %(slot)s has no owner, so nobody takes from it."),
  owner_lost: () =>
    gettext(
      "%(worker)s owns slot %(slot)s and has been silent for %(silent_ms)s; another one may take it when its session has ended.",
    ),
  owner_away: () =>
    gettext("%(worker)s owns slot %(slot)s and has not reached ZooKeeper for %(for_ms)s, so it takes nothing."),
  owner_stopping: () => gettext("%(worker)s owns slot %(slot)s and is stopping; the next owner goes on."),
  owner_drained: () => gettext("%(worker)s owns slot %(slot)s and is drained; the next owner goes on."),
  overdue: () =>
    gettext(
      "%(id)s in slot %(slot)s has been in flight for %(for_ms)s; its time was over %(over_ms)s ago, and nobody has put it back.",
    ),
  busy: () =>
    gettext("Slot %(slot)s is busy with %(id)s, in flight for %(for_ms)s; %(left_ms)s left until it times out."),
  suspects: (v) =>
    ngettext(
      "%(suspects)s message in slot %(slot)s was in flight when a process died: it runs alone, and the others wait.",
      "%(suspects)s messages in slot %(slot)s were in flight when a process died: each runs alone, and the others wait.",
      v.suspects,
    ),
  behind_failure: (v) =>
    ngettext(
      "Its group keeps the order: in slot %(slot)s, %(retrying)s entry that failed waits for its next try, in %(left_ms)s, and all others behind it.",
      "Its group keeps the order: in slot %(slot)s, %(retrying)s entries that failed wait for their next try, in %(left_ms)s, and all others behind them.",
      v.retrying,
    ),
  holds_back: (v) =>
    ngettext(
      "%(held)s is kept back by holds (%(holds)s), the first of them for %(for_ms)s now.",
      "%(held)s are kept back by holds (%(holds)s), the first of them for %(for_ms)s now.",
      v.held,
    ),
  lag_unknown: () =>
    gettext("How much is ahead of it in slot %(slot)s is not known: somebody wrote into the stream around us."),
  gone: () => gettext("No message of this id is in the queue."),
  removed: () => gettext("It was cancelled or dropped %(for_ms)s ago, and can be restored."),
  finished: () => gettext("The group has finished it."),
  dead: (v) => `${failed(v)} ${gettext("It is a dead letter for %(for_ms)s now.")}`,
  held: () => gettext("It is held, for %(for_ms)s now, until somebody lifts the hold %(hold)s."),
  held_until: () =>
    gettext("It is held for %(left_ms)s more by the hold %(hold)s, unless somebody lifts that before."),
  expired: () => gettext("It expired %(for_ms)s ago, and is gone as soon as its turn comes."),
  not_due: () => gettext("It is due only in %(left_ms)s."),
  backing_off: (v) => `${failed(v)} ${gettext("Its next try is in %(left_ms)s.")}`,
  in_flight: () => gettext("It is being worked on: in flight for %(for_ms)s, %(left_ms)s left until it times out."),
  behind_itself: () =>
    gettext("It waits for its own earlier delivery, in flight for %(for_ms)s; %(left_ms)s left until that times out."),
  suspect: () => gettext("It was in flight when a process died: it runs alone, when nothing else of its worker runs."),
  fresh_first: (v) =>
    ngettext(
      "It has failed before: it comes after %(before)s fresh message, but for a tenth of each take.",
      "It has failed before: it comes after %(before)s fresh messages, but for a tenth of each take.",
      v.before,
    ),
  higher_first: (v) =>
    ngettext(
      "%(before)s message of its slot comes before it, %(higher)s with a higher priority.",
      "%(before)s messages of its slot come before it, %(higher)s of them with a higher priority.",
      v.before,
    ),
  behind: (v) =>
    ngettext(
      "%(before)s message of its slot comes before it.",
      "%(before)s messages of its slot come before it.",
      v.before,
    ),
  ahead: (v) =>
    v.capped
      ? gettext("The group has not come to it yet: %(before)s entries of its slot or more come before it.")
      : ngettext(
          "The group has not come to it yet: %(before)s entry of its slot comes before it.",
          "The group has not come to it yet: %(before)s entries of its slot come before it.",
          v.before,
        ),
  falls_behind: () => gettext("More comes in than is done: %(in_s)s a second against %(out_s)s; %(ready)s ready."),
  draining: () => gettext("%(ready)s are ready and %(out_s)s a second are done: that takes %(left_ms)s."),
  redis_slow: () => gettext("Redis takes %(answer_ms)s to answer."),
  clock: () =>
    gettext("The clock of Redis is %(for_ms)s behind that of the console, and due times go by that of Redis."),
  on_its_way: () => gettext("Nothing is in its way: a worker may take it at any moment."),
  nothing_ready: () => gettext("Nothing is late: nothing is ready."),
  due_later: () => gettext("Nothing is late: the next one is due in %(left_ms)s."),
};

/** A reason in words; of a newer release, in English. */
export function sentence({ code, text, values }) {
  const words = SENTENCES[code];
  return words ? fill(words(values), shown(values)) : text;
}
