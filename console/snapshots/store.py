"""Where live data is kept between the keeper, which writes it, and pages and sockets, which read it.

Functions are operations of the engine (`client.run(...)` drives them, synchronously or not), so this works on
every kind of Redis the queue works on. All keys expire by themselves.

| key (below `<namespace>:console:`) | holds |
|---|---|
| `overview` | the newest frame of all topics: sequence number, newline, JSON |
| `fleet` | the newest frame of the workers, while somebody looks |
| `metrics` | counters, gauges and lateness of every topic, for Prometheus: time, newline, JSON |
| `sparks` | a few minutes' backlog of every topic, coarse: JSON |
| `history:<topic>` | list of points, one a sample: JSON arrays |
| `topic:<topic>`, `details:<topic>`, `masked:<topic>` | newest frames of a watched topic |
| `clusters:<topic>` | how many dead letters each cluster had in the last hour |
| `acknowledged` | dead letters somebody has seen and leaves: topic → who, when, up to when |
| `objectives` | how much of each topic was late, every hour of a week: topic → marks |
| `data` | a word and a count, by which the keeper knows the server's data again |
| `database` | the mark of the database of whoever is the active keeper |
| `watch` | which topics somebody looks at: name → until when (ms) |
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from rmq_core.errors import ScriptFailed, ServerFull
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, Request, batches, script
from rmq_core.queries.present import now_ms

log = logging.getLogger(__name__)

HISTORY_S = 15 * 60
FRAME_TTL_MS = 60_000
WATCH_MS = 12_000
LISTS_AT_ONCE = 100
_TRIM_EVERY = 20
_POINT = re.compile(rb"\[[-+0-9.eE,\[\]nul ]*\]")
"""Numbers and nulls: only the outside is looked at."""
_FRAME = re.compile(r"([0-9]{1,18})\n(\{.+\})", re.DOTALL)


class LiveKeys:
    """Every key of the console's live data."""

    def __init__(self, namespace: str) -> None:
        prefix = f"{namespace}:console:"
        self.overview = prefix + "overview"
        self.sparks = prefix + "sparks"
        self.fleet = prefix + "fleet"
        self.metrics = prefix + "metrics"
        self.watch = prefix + "watch"
        self.data = prefix + "data"
        self.database = prefix + "database"
        self.acknowledged = prefix + "acknowledged"
        self.objectives = prefix + "objectives"
        self._prefix = prefix

    def clusters(self, topic: str) -> str:
        return f"{self._prefix}clusters:{topic}"

    def history(self, topic: str) -> str:
        return f"{self._prefix}history:{topic}"

    def topic(self, topic: str) -> str:
        return f"{self._prefix}topic:{topic}"

    def details(self, topic: str, payload: bool) -> str:
        return f"{self._prefix}{'details' if payload else 'masked'}:{topic}"


def write_frames(frames: dict[str, str], seq: int) -> Operation[None]:
    """Replace frames, by key."""
    commands = [_replace(key, f"{seq}\n{text}", FRAME_TTL_MS) for key, text in frames.items()]
    if commands:
        yield commands


def read_frame(key: str) -> Operation[tuple[int, str] | None]:
    """The newest frame under a key and its sequence number; what is no frame of ours is none (decision 085).

    Only its outside is looked at: frames are large, and the keeper replaces what else may lie there with its next look.
    """
    found = _FRAME.fullmatch((yield from read_text(key)) or "")
    return None if found is None else (int(found[1]), found[2])


def append_history(
    points: dict[str, str], keep: int, round_number: int, at_once: int = LISTS_AT_ONCE
) -> Operation[None]:
    """Add one point to each list; now and then cut the lists to `keep` and renew their expiry.

    `at_once`: lists of one call, 1 where they are on several nodes.
    """
    calls: list[Request] = []
    first = 0
    for some in batches(points, at_once):
        due = [place for place in range(len(some)) if (round_number + first + place) % _TRIM_EVERY == 0]
        texts = [points[key].encode() for key in some]
        args = (b"%d" % keep, b"%d" % (HISTORY_S + 60), *texts, *(b"%d" % (place + 1) for place in due))
        calls.append(Call(script("append"), tuple(some), args))
        first += len(some)
    if calls:
        yield from if_there_is_room(calls)


def read_history(key: str, last: int = 0) -> Operation[str]:
    """All points (or the ``last`` so many), as one JSON array; what is no point is left out."""
    try:
        (stored,) = yield [("LRANGE", key, -last, -1)]
    except ScriptFailed:  # something else than a list
        stored = []
    return "[" + ",".join(point.decode() for point in stored if _POINT.fullmatch(point)) + "]"


def write_text(key: str, text: str, ttl_ms: int) -> Operation[None]:
    yield [_replace(key, text, ttl_ms)]


def _replace(key: str, text: str, ttl_ms: int) -> Call:
    return Call(script("replace"), [key], [text, ttl_ms])


def if_there_is_room(commands: Sequence[Request]) -> Operation[None]:
    """What may be missing: a full server refuses it, and still has to be looked at."""
    with suppress(ServerFull):
        yield commands


def read_text(key: str) -> Operation[str | None]:
    """None also where it holds no text, or something else than a string."""
    try:
        (stored,) = yield [("GET", key)]
        return None if stored is None else stored.decode()
    except (ScriptFailed, UnicodeDecodeError):
        return None


def read_sparks(key: str) -> Operation[str | None]:
    """The coarse history as JSON; None where it is not of our shape."""
    text = yield from read_text(key)
    try:
        found = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    return text if isinstance(found, dict) and isinstance(found.get("sparks"), dict) else None


def watch(keyspace: Keyspace, key: str, topic: str) -> Operation[None]:
    """Say that somebody looks at a topic; holds for `WATCH_MS`."""
    now = yield from now_ms(keyspace)
    yield from with_own_type(key, [Call(script("mark"), [key], [topic, now + WATCH_MS, 2 * WATCH_MS])])


def watched(key: str, at_ms: int) -> Operation[frozenset[str]]:
    """The topics somebody looks at."""
    _, names = yield from with_own_type(key, [("ZREMRANGEBYSCORE", key, "-inf", at_ms), ("ZRANGE", key, 0, -1)])
    return frozenset(name.decode() for name in names if is_text(name))


def with_own_type(key: str, commands: Sequence[Request]) -> Operation[Any]:
    """The replies of commands on one key of ours. Where it is of another type, which no command of ours makes, it is
    deleted first: the keeper could look no more, at anything (decision 085)."""
    try:
        return (yield commands)
    except ScriptFailed as error:
        if "WRONGTYPE" not in str(error):
            raise
    log.warning("%s held something else than it should and starts again", key)
    yield [("DEL", key)]
    return (yield commands)


def is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def forget(keys: Iterable[str]) -> Operation[None]:
    """Delete keys, wherever they are."""
    commands = [("DEL", key) for key in keys]
    if commands:
        yield commands
