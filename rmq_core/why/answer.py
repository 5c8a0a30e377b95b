"""What is answered: reasons, the one that decides first, each with its evidence and a sentence for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

SENTENCES: Mapping[str, str] = {
    # Of a topic, or a group.
    "paused": "It is paused: nothing is taken until somebody resumes it; {ready} ready.",
    "paused_until": "It is paused for {left_ms} more; {ready} ready.",
    "no_worker": "No worker listens to it; {ready} ready.",
    "route_paused": "The route {route} takes from it, and is paused; {ready} ready.",
    "route_idle": "The route {route} takes from it, and nobody runs it: a keeper does, or rmq forward; {ready} ready.",
    "route_failing": "The route {route} takes from it, and something keeps it from forwarding; {ready} ready.",
    "worker_lost": "Its worker {worker} has been silent for {silent_ms} and no other listens to it; {ready} ready.",
    "stopping": "All of its workers are stopping, {worker} among them; {ready} ready.",
    "drained": "All of its workers are drained, {worker} among them, so they take no slots; {ready} ready.",
    "zookeeper_away": "No worker reaches ZooKeeper, {worker} for {for_ms} now, so none takes anything; {ready} ready.",
    "needs_owner": (
        "{slots} of its slots may only be taken from by an owner, and its workers run without ZooKeeper; {ready} ready."
    ),
    "rate_limited": "Its rate limit of {limit} per second is used up; the {ready} that are ready need {left_ms}.",
    "threads_busy": "Its workers have all they can run: {in_flight} deliveries on {threads} threads.",
    "old_definition": "The worker {worker} still goes by version {version} of the definition, not by {current}.",
    # Of a slot; of a topic that has several such slots, of the one that is latest.
    "unowned": "Slot {slot} has no owner, so nobody takes from it.",
    "owner_lost": "{worker} owns slot {slot} and has been silent for {silent_ms}; another one may take it when its"
    " session has ended.",
    "owner_away": "{worker} owns slot {slot} and has not reached ZooKeeper for {for_ms}, so it takes nothing.",
    "owner_stopping": "{worker} owns slot {slot} and is stopping; the next owner goes on.",
    "owner_drained": "{worker} owns slot {slot} and is drained; the next owner goes on.",
    "overdue": "{id} in slot {slot} has been in flight for {for_ms}; its time was over {over_ms} ago, and nobody has"
    " put it back.",
    "busy": "Slot {slot} is busy with {id}, in flight for {for_ms}; {left_ms} left until it times out.",
    "suspects": "{suspects} in slot {slot} were in flight when a process died: each runs alone, and the others wait.",
    "behind_failure": "Its group keeps the order: in slot {slot}, {retrying} that failed wait for their next try, in"
    " {left_ms}, and all others behind them.",
    "holds_back": "{held} are kept back by {holds} holds, the first of them for {for_ms} now.",
    "lag_unknown": "How much is ahead of it in slot {slot} is not known: somebody wrote into the stream around us.",
    # Of a message.
    "gone": "No message of this id is in the queue.",
    "removed": "It was cancelled or dropped {for_ms} ago, and can be restored.",
    "finished": "The group has finished it.",
    "dead": "It failed {failures} times, last with {error}, and is a dead letter for {for_ms} now.",
    "held": "It is held, for {for_ms} now, until somebody lifts the hold {hold}.",
    "held_until": "It is held for {left_ms} more by the hold {hold}, unless somebody lifts that before.",
    "expired": "It expired {for_ms} ago, and is gone as soon as its turn comes.",
    "not_due": "It is due only in {left_ms}.",
    "backing_off": "It failed {failures} times, last with {error}; its next try is in {left_ms}.",
    "in_flight": "It is being worked on: in flight for {for_ms}, {left_ms} left until it times out.",
    "behind_itself": "It waits for its own earlier delivery, in flight for {for_ms}; {left_ms} left until that times"
    " out.",
    "suspect": "It was in flight when a process died: it runs alone, when nothing else of its worker runs.",
    "fresh_first": "It failed {failures} times: it comes after the {before} fresh ones, but for a tenth of each take.",
    "higher_first": "{before} of its slot come before it, {higher} of them with a higher priority.",
    "behind": "{before} of its slot come before it.",
    "ahead": "The group has not come to it yet: {before} entries of its slot come before it.",
    # Of how it goes.
    "falls_behind": "More comes in than is done: {in_s} a second against {out_s}; {ready} ready.",
    "draining": "{ready} are ready and {out_s} a second are done: that takes {left_ms}.",
    "redis_slow": "Redis takes {answer_ms} to answer.",
    "clock": "The clock of Redis is {for_ms} behind the clock here, and due times go by that of Redis.",
    "on_its_way": "Nothing is in its way: a worker may take it at any moment.",
    "nothing_ready": "Nothing is late: nothing is ready.",
    "due_later": "Nothing is late: the next one is due in {left_ms}.",
}
"""Code → sentence. Values that end in ``_ms`` are durations in it."""
CALM = frozenset({"on_its_way", "nothing_ready", "due_later", "not_due", "in_flight", "gone", "removed", "finished"})
"""Those that explain, and hold nothing up."""
HIDDEN = "(hidden)"


@dataclass(frozen=True, slots=True)
class Reason:
    """``code`` names the sentence, ``values`` fill it in. ``id`` among them: of a message; None where it is hidden."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The sentence, in English."""
        return SENTENCES[self.code].format_map({name: worded(name, value) for name, value in self.values.items()})

    def without(self, *names: str) -> Reason:
        """The same where those values may not be read."""
        return replace(self, values={name: None if name in names else value for name, value in self.values.items()})


@dataclass(frozen=True, slots=True)
class Why:
    """``late_ms``: for how long the oldest has been due, or the message; None where that is not known. ``reasons``:
    what decides comes first. ``at_ms``: the Redis clock."""

    topic: str
    slot: int | None
    id: str | None
    at_ms: int
    late_ms: int | None
    reasons: tuple[Reason, ...]

    @property
    def text(self) -> str:
        """The answer in one sentence."""
        return self.reasons[0].text

    def as_dict(self) -> dict[str, Any]:
        """With the sentences, for JSON."""
        values = asdict(self)
        values["reasons"] = [
            {"code": each.code, "text": each.text, "values": dict(each.values)} for each in self.reasons
        ]
        return values


def worded(name: str, value: Any) -> str:
    """A value of a sentence."""
    if value is None:
        return HIDDEN
    if name.endswith("_ms"):
        return duration(value)
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def duration(ms: int) -> str:
    """For people: the unit that leaves one to three digits."""
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 120_000:
        return f"{ms / 1_000:.1f} s"
    return f"{ms / 60_000:.0f} min" if ms < 7_200_000 else f"{ms / 3_600_000:.0f} h"
