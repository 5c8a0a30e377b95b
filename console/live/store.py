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
| `watch` | which topics somebody looks at: name → until when (ms) |
"""

from __future__ import annotations

from collections.abc import Iterable

from rmq_core.inspection import now_ms
from rmq_core.scripts import Operation
from rmq_core.slots import Keyspace

HISTORY_S = 15 * 60
FRAME_TTL_MS = 60_000
WATCH_MS = 12_000
_TRIM_EVERY = 20


class LiveKeys:
    """Every key of the console's live data."""

    def __init__(self, namespace: str) -> None:
        prefix = f"{namespace}:console:"
        self.overview = prefix + "overview"
        self.sparks = prefix + "sparks"
        self.fleet = prefix + "fleet"
        self.metrics = prefix + "metrics"
        self.watch = prefix + "watch"
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
    commands = [("SET", key, f"{seq}\n{text}", "PX", FRAME_TTL_MS) for key, text in frames.items()]
    if commands:
        yield commands


def read_frame(key: str) -> Operation[tuple[int, str] | None]:
    """The newest frame under a key and its sequence number."""
    (stored,) = yield [("GET", key)]
    if stored is None:
        return None
    seq, _, text = stored.decode().partition("\n")
    return int(seq), text


def append_history(points: dict[str, str], keep: int, round_number: int) -> Operation[None]:
    """Add one point to each list; now and then cut the lists to `keep` and renew their expiry."""
    commands: list[tuple[str | int, ...]] = []
    for index, (key, point) in enumerate(points.items()):
        commands.append(("RPUSH", key, point))
        if (round_number + index) % _TRIM_EVERY == 0:
            commands.append(("LTRIM", key, -keep, -1))
            commands.append(("EXPIRE", key, HISTORY_S + 60))
    if commands:
        yield commands


def read_history(key: str) -> Operation[str]:
    """All points, as one JSON array."""
    (points,) = yield [("LRANGE", key, 0, -1)]
    return "[" + ",".join(point.decode() for point in points) + "]"


def write_text(key: str, text: str, ttl_ms: int) -> Operation[None]:
    yield [("SET", key, text, "PX", ttl_ms)]


def read_text(key: str) -> Operation[str | None]:
    (stored,) = yield [("GET", key)]
    return None if stored is None else stored.decode()


def watch(keyspace: Keyspace, key: str, topic: str) -> Operation[None]:
    """Say that somebody looks at a topic; holds for `WATCH_MS`."""
    now = yield from now_ms(keyspace)
    yield [("ZADD", key, now + WATCH_MS, topic), ("PEXPIRE", key, 2 * WATCH_MS)]


def watched(key: str, at_ms: int) -> Operation[frozenset[str]]:
    """The topics somebody looks at."""
    _, names = yield [("ZREMRANGEBYSCORE", key, "-inf", at_ms), ("ZRANGE", key, 0, -1)]
    return frozenset(name.decode() for name in names)


def forget(keys: Iterable[str]) -> Operation[None]:
    """Delete keys, wherever they are."""
    commands = [("DEL", key) for key in keys]
    if commands:
        yield commands
