"""What each reason says, in English. The console has the same in other languages, in its catalogues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plural:
    """A sentence in two forms; which one, the value called ``by`` decides."""

    one: str
    many: str
    by: str


# The names by which the tool of the translators finds a text.
def gettext_noop(text: str) -> str:
    return text


ngettext_lazy = Plural

SENTENCES: Mapping[str, str | Plural] = {
    # Of a topic, or a group.
    "paused": gettext_noop("It is paused: nothing is taken until somebody resumes it; {ready} ready."),
    "paused_until": gettext_noop("It is paused for {left_ms} more; {ready} ready."),
    "no_worker": gettext_noop("No worker listens to it; {ready} ready."),
    "route_paused": gettext_noop("The route {route} takes from it, and is paused; {ready} ready."),
    "route_idle": gettext_noop(
        "The route {route} takes from it, and nobody runs it: a keeper does, or rmq forward; {ready} ready."
    ),
    "route_failing": gettext_noop(
        "The route {route} takes from it, and something keeps it from forwarding; {ready} ready."
    ),
    "worker_lost": gettext_noop(
        "Its worker {worker} has been silent for {silent_ms} and no other listens to it; {ready} ready."
    ),
    "stopping": gettext_noop("All of its workers are stopping, {worker} among them; {ready} ready."),
    "drained": gettext_noop(
        "All of its workers are drained, {worker} among them, so they take no slots; {ready} ready."
    ),
    "zookeeper_away": gettext_noop(
        "No worker reaches ZooKeeper, {worker} for {for_ms} now, so none takes anything; {ready} ready."
    ),
    "needs_owner": gettext_noop(
        "{slots} of its slots may only be taken from by an owner, and its workers run without ZooKeeper; {ready} ready."
    ),
    "rate_limited": gettext_noop(
        "Its rate limit of {limit} per second is used up; the {ready} that are ready need {left_ms}."
    ),
    "permits_used": gettext_noop(
        "Its limit of {limit} in flight is reached: {in_flight} are, and each that ends makes room; {ready} ready."
    ),
    "threads_busy": gettext_noop("Its workers have all they can run: {in_flight} deliveries on {threads} threads."),
    "old_definition": gettext_noop(
        "The worker {worker} still goes by version {version} of the definition, not by {current}."
    ),
    # Of a slot; of a topic that has several such slots, of the one that is latest.
    "unowned": gettext_noop("Slot {slot} has no owner, so nobody takes from it."),
    "owner_lost": gettext_noop(
        "{worker} owns slot {slot} and has been silent for {silent_ms}; another one may take it when its session has"
        " ended."
    ),
    "owner_away": gettext_noop(
        "{worker} owns slot {slot} and has not reached ZooKeeper for {for_ms}, so it takes nothing."
    ),
    "owner_stopping": gettext_noop("{worker} owns slot {slot} and is stopping; the next owner goes on."),
    "owner_drained": gettext_noop("{worker} owns slot {slot} and is drained; the next owner goes on."),
    "overdue": gettext_noop(
        "{id} in slot {slot} has been in flight for {for_ms}; its time was over {over_ms} ago, and nobody has put it"
        " back."
    ),
    "busy": gettext_noop("Slot {slot} is busy with {id}, in flight for {for_ms}; {left_ms} left until it times out."),
    "suspects": ngettext_lazy(
        "{suspects} message in slot {slot} was in flight when a process died: it runs alone, and the others wait.",
        "{suspects} messages in slot {slot} were in flight when a process died: each runs alone, and the others wait.",
        "suspects",
    ),
    "behind_failure": ngettext_lazy(
        "Its group keeps the order: in slot {slot}, {retrying} entry that failed waits for its next try, in {left_ms},"
        " and all others behind it.",
        "Its group keeps the order: in slot {slot}, {retrying} entries that failed wait for their next try, in"
        " {left_ms}, and all others behind them.",
        "retrying",
    ),
    "holds_back": ngettext_lazy(
        "{held} message is kept back by holds ({holds}), the first of them for {for_ms} now.",
        "{held} messages are kept back by holds ({holds}), the first of them for {for_ms} now.",
        "held",
    ),
    "keys_full": ngettext_lazy(
        "{held} message waits for its key ({keys}), of which {limit} may be in flight at once, and are.",
        "{held} messages wait for their keys ({keys}), of each of which {limit} may be in flight at once, and are.",
        "held",
    ),
    "lag_unknown": gettext_noop(
        "How much is ahead of it in slot {slot} is not known: somebody wrote into the stream around us."
    ),
    # Of a message.
    "gone": gettext_noop("No message of this id is in the queue."),
    "behind_failed": gettext_noop(
        "It waits for {id} of the same slot basis, which failed {for_ms} ago and is to be tried again."
    ),
    "key_full": gettext_noop(
        "It waits for its key, of which {limit} may be in flight at once, and are; so it is with {keys} keys of its"
        " slot."
    ),
    "behind_version": gettext_noop("It waits for its turn: version {version} of its key has still to be handled."),
    "behind_dead": gettext_noop(
        "It waits for version {version} of its key, which is a dead letter: requeue that, or go on without it."
    ),
    "behind_removed": gettext_noop(
        "It waits for version {version} of its key, which was cancelled or dropped: restore that, or go on without it."
    ),
    "behind_missing": gettext_noop(
        "It waits for version {version} of its key, which has expired or has not come, for {for_ms} now."
    ),
    "removed": gettext_noop("It was cancelled or dropped {for_ms} ago, and can be restored."),
    "finished": gettext_noop("The group has finished it."),
    "dead": ngettext_lazy(
        "It failed {failures} time, last with {error}, and is a dead letter for {for_ms} now.",
        "It failed {failures} times, last with {error}, and is a dead letter for {for_ms} now.",
        "failures",
    ),
    "held": gettext_noop("It is held, for {for_ms} now, until somebody lifts the hold {hold}."),
    "held_until": gettext_noop("It is held for {left_ms} more by the hold {hold}, unless somebody lifts that before."),
    "expired": gettext_noop("It expired {for_ms} ago, and is gone as soon as its turn comes."),
    "not_due": gettext_noop("It is due only in {left_ms}."),
    "backing_off": ngettext_lazy(
        "It failed {failures} time, last with {error}; its next try is in {left_ms}.",
        "It failed {failures} times, last with {error}; its next try is in {left_ms}.",
        "failures",
    ),
    "in_flight": gettext_noop("It is being worked on: in flight for {for_ms}, {left_ms} left until it times out."),
    "behind_itself": gettext_noop(
        "It waits for its own earlier delivery, in flight for {for_ms}; {left_ms} left until that times out."
    ),
    "suspect": gettext_noop(
        "It was in flight when a process died: it runs alone, when nothing else of its worker runs."
    ),
    "fresh_first": ngettext_lazy(
        "It has failed before: it comes after {before} fresh message, but for a tenth of each take.",
        "It has failed before: it comes after {before} fresh messages, but for a tenth of each take.",
        "before",
    ),
    "higher_first": ngettext_lazy(
        "{before} message of its slot comes before it, {higher} with a higher priority.",
        "{before} messages of its slot come before it, {higher} of them with a higher priority.",
        "before",
    ),
    "behind_turn": ngettext_lazy(
        "It waits for its tenant's turn: {before} message of that tenant comes before it in its slot, and other tenants"
        " ({others}) take turns with it.",
        "It waits for its tenant's turn: {before} messages of that tenant come before it in its slot, and other tenants"
        " ({others}) take turns with it.",
        "before",
    ),
    "behind": ngettext_lazy(
        "{before} message of its slot comes before it.",
        "{before} messages of its slot come before it.",
        "before",
    ),
    "ahead": ngettext_lazy(
        "The group has not come to it yet: {before} entry of its slot comes before it.",
        "The group has not come to it yet: {before} entries of its slot come before it.",
        "before",
    ),
    "ahead_capped": gettext_noop(
        "The group has not come to it yet: {before} entries of its slot or more come before it."
    ),
    # Of a send that is only tried.
    "send_new_due": gettext_noop("It would be a new message, due in {left_ms}."),
    "send_new_priority": gettext_noop("It would be a new message with priority {priority}."),
    "send_never": gettext_noop(
        "Nothing merges in this topic: each send is a message of its own, under an id of its own."
    ),
    "send_behind_itself": gettext_noop("It would wait for the earlier delivery of its id, in flight for {for_ms}."),
    "send_beside_dead": gettext_noop(
        "The dead letter of its id, dead for {for_ms}, stays as it is, with its own content."
    ),
    "send_after_expired": gettext_noop("The message of its id that waits has expired, and would end first."),
    "send_merges": gettext_noop("It would merge into the message of its id that waits."),
    "send_content_latest": gettext_noop("Its content would win: this topic keeps the latest (merge)."),
    "send_content_first": gettext_noop("The content that waits would win: this topic keeps the first (merge)."),
    "send_range_stays": gettext_noop("It stays due in {left_ms}: on a range-merge topic the first send says when."),
    "send_due_stays": gettext_noop("It stays due in {left_ms}, and keeps its place: both say the same time."),
    "send_due_moves": gettext_noop("It would be due in {left_ms} instead of {before_ms}: the last send says when."),
    "send_priority_stays": gettext_noop("It keeps its place: both say priority {priority}."),
    "send_priority_moves": gettext_noop(
        "Its priority would be {priority} instead of {before}, behind its equals: the last send says which."
    ),
    "send_retry_stays": gettext_noop("It has failed, and its next try stays in {left_ms}."),
    "send_retry_moves": gettext_noop("It has failed, and would wait for its next try no longer: this send says when."),
    "send_held_stays": gettext_noop("A hold keeps it back, and its place for later stays."),
    "send_held_moves": gettext_noop("A hold keeps it back; its place for later would be that of this send."),
    "send_older": gettext_noop(
        "It would change nothing: its version {version} is older than {known}, which waits or is in flight and wins."
    ),
    "send_duplicate": gettext_noop("It would not be accepted: its id was {for_ms} ago, within its period."),
    "send_outdated": gettext_noop(
        "It would not be accepted: version {known} of its id has been handed out, and {version} is older."
    ),
    "send_full": gettext_noop(
        "Its slot has used up its part of the topic's max_backlog of {limit}: it would need more of it, and be refused"
        " where the topic is full."
    ),
    # Of how it goes.
    "falls_behind": gettext_noop("More comes in than is done: {in_s} a second against {out_s}; {ready} ready."),
    "draining": gettext_noop("{ready} are ready and {out_s} a second are done: that takes {left_ms}."),
    "redis_slow": gettext_noop("Redis takes {answer_ms} to answer."),
    "clock": gettext_noop("The clock of Redis is {for_ms} behind the clock here, and due times go by that of Redis."),
    "on_its_way": gettext_noop("Nothing is in its way: a worker may take it at any moment."),
    "nothing_ready": gettext_noop("Nothing is late: nothing is ready."),
    "due_later": gettext_noop("Nothing is late: the next one is due in {left_ms}."),
}
"""Code → sentence. Values that end in ``_ms`` are durations in it. Where not everything was counted, as the value
``capped`` tells, the sentence is that of ``<code>_capped``."""
HIDDEN = gettext_noop("(hidden)")
