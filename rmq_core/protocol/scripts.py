"""Sans-IO: builds the calls that go to Redis and reads their replies; knows no socket."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, TypeVar

from rmq_core.model.fingerprints import fingerprint
from rmq_core.model.message import Delay, Delivery
from rmq_core.model.scores import SHIFT, exact, failures_of
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import SENDING, Keyspace

T = TypeVar("T")

BATCH_MAX = 1000
"""Ids in one script call: Lua's ``unpack`` and the time the server gives to nobody else both set a limit."""

SHARED_EPOCH = ""
NOT_DUE = -1
TOPIC_BACKOFF = -1
REJECTED = -2
ERROR_TEXT_MAX = 2_000
TRACEBACK_MAX = 8_000

# -- scripts -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua source with its includes put in, and the name the server knows it by."""

    name: str
    text: str
    sha: str


@cache
def script(name: str) -> Script:
    """Loads ``lua/<name>.lua``; each ``-- include path`` line is replaced by that file, and so are those in it."""
    text = source(f"{name}.lua")
    return Script(name, text, hashlib.sha1(text.encode()).hexdigest())


def source(path: str) -> str:
    """A Lua file with what it includes."""
    return "\n".join(_lines(path))


def _lines(path: str) -> Iterator[str]:
    for line in (files("rmq_core.protocol") / "lua" / path).read_text(encoding="utf-8").splitlines():
        included = line.removeprefix("-- include ")
        yield from [line] if included == line else _lines(included)


class Call(NamedTuple):
    """One script call. ``fixed``: the arguments that come first, the same in many calls.

    ``args`` and ``fixed`` may hold numbers, unless ``args`` is a tuple: then nobody has to look for them.
    """

    script: Script
    keys: Sequence[str]
    args: Sequence[Any]
    fixed: tuple[Any, ...] = ()

    def by_sha(self) -> tuple[Any, ...]:
        """The command that runs a script the server knows."""
        return ("EVALSHA", self.script.sha, *self.arguments())

    def by_text(self) -> tuple[Any, ...]:
        """The command that runs and teaches a script the server does not know."""
        return ("EVAL", self.script.text, *self.arguments())

    def arguments(self) -> tuple[Any, ...]:
        """What follows the script."""
        return (len(self.keys), *self.keys, *self.fixed, *self.args)


Request: TypeAlias = Call | tuple[Any, ...]
"""A script call, or a plain command as a tuple."""


class OfMasters(tuple[Any, ...]):
    """A plain command for every master of a Cluster, asked by itself: the reply is address → reply. Elsewhere it is a
    command like others.
    """

    __slots__ = ()


class Each(list[Request]):
    """Requests whose errors are replies like others, for an operation that has to know which of them failed."""


Operation: TypeAlias = Generator[Sequence[Request], list[Any], T]
"""What the two clients drive: yields requests, is sent their replies, returns its result."""

# -- sending -----------------------------------------------------------------------------------------------------


def send(
    keyspace: Keyspace, topic: Topic, slot: int, inline: list[Any], edge: int, *, allow_past: bool = False
) -> Call:
    """Inline messages of one slot; ``inline`` is value, id, value, id, … and used up; ``edge``: see `edge_of`."""
    keys, fixed = _sending_to(keyspace, topic, slot)
    inline[::2] = map(repr, inline[::2])
    return Call(script("send"), keys, (repr(edge), _past(edge, allow_past), *inline), fixed)


def send_pooled(
    keyspace: Keyspace, topic: Topic, slot: int, pooled: list[Any], edge: int, *, allow_past: bool = False
) -> Call:
    """Messages with a body; ``pooled`` is value, id, body, …"""
    keys, fixed = _sending_to(keyspace, topic, slot)
    return Call(script("send_pooled"), keys, _spelled([edge, _past(edge, allow_past), *pooled]), fixed)


def send_limited(
    keyspace: Keyspace, topic: Topic, slot: int, mixed: list[Any], edge: int, *, allow_past: bool = False
) -> Call:
    """Messages of a topic with a ``max_backlog``; ``mixed`` is value, id, body (b"" for an inline one), …"""
    _, fixed = _sending_to(keyspace, topic, slot)
    args = _spelled([edge, _past(edge, allow_past), topic.version, *mixed])
    return Call(script("send_limited"), keyspace.slot_keys(topic.name, slot), args, fixed)


def edge_of(topic: Topic, values: Iterable[int]) -> int:
    """Of a batch, what a sleeping consumer would want to know: the earliest time, or the highest priority."""
    return min(values) if topic.timed else max(values)


def _past(edge: int, allow_past: bool) -> str:
    """What a send says of times that have gone by; due times that count from now are a batch of their own."""
    return "+" if type(edge) is Delay else "1" if allow_past else "0"


def _spelled(args: list[Any]) -> list[Any]:
    """A `Delay` as the number that it is."""
    return [int(each) if type(each) is Delay else each for each in args] if type(args[0]) is Delay else args


def _sending_to(keyspace: Keyspace, topic: Topic, slot: int) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """The keys and the fixed arguments of all that is sent to a slot, remembered while the definition is the same."""
    known = keyspace.places.get(topic.name)
    if known is None or known[0] is not topic:
        known = keyspace.places[topic.name] = (topic, {})
    place = known[1].get(slot)
    if place is None:
        fixed = (topic.kind.value, keyspace.wake(topic.name), slot, topic.merge.value, topic.shape)
        place = known[1][slot] = (keyspace.slot_keys(topic.name, slot)[:SENDING], fixed)
    return place


# -- taking and settling -----------------------------------------------------------------------------------------


def policy(topic: Topic, epoch: str = SHARED_EPOCH, by: str = "") -> list[Any]:
    """The arguments of ``shared/policy.lua``. ``by``: '<host> <worker>', for the journal."""
    return [
        topic.kind.value,
        topic.max_retries,
        topic.visibility_timeout_ms,
        topic.backoff_ms,
        topic.backoff_max_ms,
        epoch,
        topic.shape,
        by,
    ]


class Ack(NamedTuple):
    """A delivery that succeeded."""

    id: bytes
    receipt: int


class Nack(NamedTuple):
    """A delivery that failed; ``delay_ms`` -1: the topic's back-off, -2: dead at once."""

    id: bytes
    receipt: int
    delay_ms: int
    failure: str


class Release(NamedTuple):
    """A delivery given back uncounted; ``score`` is where it was in the store."""

    id: bytes
    receipt: int
    delay_ms: int
    score: float


def failure_fragment(error: str, message: str, worker: str, traceback: str = "") -> str:
    """What `shared/failing.lua` completes to a failure record; hostile text comes out as valid UTF-8 JSON."""
    record = {"fingerprint": fingerprint(error[:200], message)}
    record |= {"error": error[:200], "message": message[:ERROR_TEXT_MAX], "worker": worker}
    if traceback:
        record["traceback"] = traceback[-TRACEBACK_MAX:]
    # A lone surrogate would pass through JSON and fail whoever shows it.
    shown = {name: text.encode(errors="replace").decode() for name, text in record.items()}
    return json.dumps(shown, separators=(",", ":"))[1:]


class Cycled(NamedTuple):
    """What a turn brought: settled (1 done, 0 stale) in the order acks, nacks, releases.

    ``head``: what the slot would hand out next: its highest priority, or (timed) when it next needs a look; None:
    nothing. ``alone``: the next message was in flight when a process died, and is only given to who takes it alone.
    """

    now_us: int
    wait_us: int | None
    statuses: list[int]
    deliveries: list[Delivery]
    head: int | None
    alone: bool


def cycle(
    keyspace: Keyspace,
    topic: Topic,
    slot: int,
    limit: int,
    *,
    epoch: str = SHARED_EPOCH,
    by: str = "",
    alone: bool = False,
    floor: int | None = None,
    acks: Sequence[Ack] = (),
    nacks: Sequence[Nack] = (),
    releases: Sequence[Release] = (),
) -> Call:
    """One turn of a consumer; nothing is taken from a paused topic.

    ``alone``: takes one at most, which the caller runs while nothing else runs in its process; should it die of that
    message, it counts as a failure. Whatever is taken otherwise may have company, and counts for none of them.
    ``floor``: leaves fresh messages of a lower priority.
    """
    args = _policy_at(keyspace, topic, slot, epoch, by)
    args += (0 if topic.paused else limit, "alone" if alone else "several", "" if floor is None else floor)
    args += (len(acks), len(nacks), len(releases))
    for groups in (acks, nacks, releases):
        for group in groups:
            args += group
    return Call(script("cycle"), keyspace.slot_keys(topic.name, slot), args)


def takeover(keyspace: Keyspace, topic: Topic, slot: int, epoch: str, most: int = BATCH_MAX, *, by: str = "") -> Call:
    """Puts back what a slot's former owner left in flight; replies how many, at most ``most``."""
    args = [*_policy_at(keyspace, topic, slot, epoch, by), most]
    return Call(script("takeover"), keyspace.slot_keys(topic.name, slot), args)


def read_cycle(topic: Topic, slot: int, reply: list[Any], epoch: str = SHARED_EPOCH) -> Cycled:
    """Inverse of what ``cycle.lua`` returns."""
    now_ms, next_due_ms, statuses, taken, bodies, beyond_us, head, alone = reply
    timed, retries, name = topic.timed, topic.max_retries, topic.name
    fresh = now_ms * SHIFT
    step = SHIFT // 2 if epoch else 0  # an owner's receipts are a millisecond apart
    deliveries = []
    for i in range(0, len(taken), 2):
        score = exact(taken[i + 1])
        body = bodies[i >> 1] if bodies else None
        receipt = fresh + step * i + failures_of(score, retries)
        deliveries.append(Delivery(name, slot, taken[i], receipt, score, body, timed, retries, epoch))
    wait_us = None if next_due_ms == NOT_DUE else max(0, (next_due_ms - now_ms) * 1000 - beyond_us)
    return Cycled(now_ms * 1000 + beyond_us, wait_us, statuses, deliveries, int(head) if head else None, alone == 1)


def settle(
    name: str,
    keyspace: Keyspace,
    topic: Topic,
    slot: int,
    groups: Iterable[Sequence[Any]],
    epoch: str = SHARED_EPOCH,
    by: str = "",
) -> Call:
    """``ack``, ``nack`` or ``release`` outside a cycle."""
    args = _policy_at(keyspace, topic, slot, epoch, by)
    for group in groups:
        args += group
    return Call(script(name), keyspace.slot_keys(topic.name, slot), args)


def extend(
    keyspace: Keyspace,
    topic: Topic,
    slot: int,
    receipts: Iterable[tuple[bytes, int]],
    for_ms: int | None,
    epoch: str = SHARED_EPOCH,
    *,
    by: str = "",
    alone: bool = False,
) -> Call:
    """More time for deliveries; replies with the new receipts, 0 for the stale.

    ``alone``: should they time out after all, they have failed, whatever else was in flight with them.
    """
    args = _policy_at(keyspace, topic, slot, epoch, by)
    args += (-1 if for_ms is None else for_ms, "alone" if alone else "several")
    for group in receipts:
        args += group
    return Call(script("extend"), keyspace.slot_keys(topic.name, slot), args)


def _policy_at(keyspace: Keyspace, topic: Topic, slot: int, epoch: str = SHARED_EPOCH, by: str = "") -> list[Any]:
    return [*policy(topic, epoch, by), keyspace.wake(topic.name), slot]


# -- operators' calls --------------------------------------------------------------------------------------------


def on_ids(name: str, keyspace: Keyspace, topic: Topic, slot: int, ids: Sequence[bytes], *values: Any) -> Call:
    """``view`` (bare ids); ``cancel``, ``drop`` (shape, undo_ms, ids); the others (policy, value, ids)."""
    args: list[Any] = []
    if name in {"cancel", "drop"}:
        args.append(topic.shape)
    elif name != "view":
        args += _policy_at(keyspace, topic, slot)
    if name in {"cancel", "drop", "restore"}:
        args.append(topic.undo_ms)
    args += values
    if name == "restore" and not values:
        args += ("", "")  # removed at any time
    args += ids
    return Call(script(name), keyspace.slot_keys(topic.name, slot), args)


def on_slot(name: str, keyspace: Keyspace, topic: Topic, slot: int) -> Call:
    """``look``: when the slot needs a consumer."""
    return Call(script(name), keyspace.slot_keys(topic.name, slot), _policy_at(keyspace, topic, slot))


def peek(keyspace: Keyspace, topic: Topic, slot: int, most: int) -> Call:
    """The scores of the slot's first ready messages."""
    return Call(script("peek"), keyspace.slot_keys(topic.name, slot), [*policy(topic), most])


def reap(keyspace: Keyspace, topic: Topic, slot: int, most: int = 100) -> Call:
    """Timeouts, due retries and old trash of a slot nobody takes from."""
    args = [*_policy_at(keyspace, topic, slot), most, topic.undo_ms]
    return Call(script("reap"), keyspace.slot_keys(topic.name, slot), args)


def snapshot(keyspace: Keyspace, topic: Topic, slot: int) -> Call:
    """Counts, heads and counters of one slot."""
    return Call(script("snapshot"), keyspace.slot_keys(topic.name, slot), [topic.kind.value])


def acquire(keyspace: Keyspace, topic: Topic, slot: int, epoch: int) -> Call:
    """Raises a slot's fence; the epoch's text form is `epoch_text`."""
    keys = keyspace.slot(topic.name, slot)
    return Call(script("acquire"), [keys.fence, keys.stats], [epoch_text(epoch), topic.shape])


def epoch_text(epoch: int) -> str:
    """An epoch as the fixed-width text that scripts compare."""
    return f"{epoch:020d}"


# -- helpers -----------------------------------------------------------------------------------------------------


def batches(items: Iterable[T], size: int = BATCH_MAX) -> Generator[list[T], None, None]:
    """Cuts a stream into lists of at most ``size``."""
    stream = iter(items)
    while batch := list(islice(stream, size)):
        yield batch


def one(request: Request, read: Callable[[Any], T]) -> Operation[T]:
    """The operation that is a single request."""
    (reply,) = yield [request]
    return read(reply)
