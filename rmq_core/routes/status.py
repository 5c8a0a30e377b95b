"""What the runners of routes count and say, and how far a route is behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rmq_core.model.group import split
from rmq_core.model.route import Route
from rmq_core.model.samples import TopicSample
from rmq_core.model.text import shown
from rmq_core.model.topic import Topic
from rmq_core.ops import on_its_way
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.queries import definitions as topics
from rmq_core.queries import sampling
from rmq_core.queries.sampling import SampleCache
from rmq_core.routes import definitions

COUNTERS = ("forwarded", "filtered", "parked", "refused")
"""Messages that reached their targets, that none wanted, that could not be forwarded; attempts that met a problem."""

RUNNER = "runner:"
HERE_MS = 5_000
"""Who has said nothing for so long runs no route."""


@dataclass(frozen=True, slots=True)
class RouteStatus:
    """A route, and how it does. Counts are kept by those who run it: what one counted in its last second may be lost.

    ``queue``: what it takes from, ``""`` where its source is gone. ``waiting``: messages that are due and not forwarded
    (None: unknown); ``behind_ms``: for how long the first of them (of a priority topic: unknown); ``dead``: dead
    letters of its queue; ``on_its_way``: on Cluster, what has been taken and not brought yet. ``problem``: why nothing
    is forwarded now, ``""``: it is. ``runners``: who runs it.
    """

    route: Route
    queue: str = ""
    waiting: int | None = None
    behind_ms: int | None = None
    in_flight: int = 0
    dead: int = 0
    on_its_way: int = 0
    forwarded: int = 0
    filtered: int = 0
    parked: int = 0
    refused: int = 0
    problem: str = ""
    problem_ms: int | None = None
    last_ms: int | None = None
    runners: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """``paused``, ``failing``, ``idle`` (nobody runs it) or ``running``."""
        if self.route.paused:
            return "paused"
        if not self.runners:
            return "idle"
        return "failing" if self.problem else "running"


def note(
    keyspace: Keyspace, name: str, runner: str, counted: Mapping[str, int], said: Mapping[str, Any], now_ms: int
) -> Operation[None]:
    """What a runner has counted since its last note, what it says, and that it is there."""
    key = keyspace.route_stats(name)
    yield [
        *(("HINCRBY", key, field, n) for field, n in counted.items() if n),
        ("HSET", key, f"{RUNNER}{runner}", now_ms, *(each for pair in said.items() for each in pair)),
    ]


def left(keyspace: Keyspace, name: str, runner: str) -> Operation[None]:
    """A runner runs the route no more."""
    yield [("HDEL", keyspace.route_stats(name), f"{RUNNER}{runner}")]


def read(keyspace: Keyspace, cache: SampleCache, now_ms: int, name: str | None = None) -> Operation[list[RouteStatus]]:
    """All routes, or one. Raises `UnknownRoute`."""
    routes = (
        (yield from definitions.read_all(keyspace)) if name is None else [(yield from definitions.read(keyspace, name))]
    )
    if not routes:
        return []
    stored = yield [("HGETALL", keyspace.route_stats(route.name)) for route in routes]
    known = {topic.name: topic for topic in (yield from topics.read_all(keyspace))}
    sources = [known.get(route.source) for route in routes]
    queues = ["" if source is None else route.queue(source) for route, source in zip(routes, sources, strict=True)]
    samples = yield from sampling.sample(keyspace, cache, keyspace.spread, [name for name in queues if name], False)
    sample_of = {sample.topic.name: sample for sample in samples}
    found = []
    for route, queue, fields in zip(routes, queues, stored, strict=True):
        sample = sample_of.get(queue)
        coming = 0 if sample is None else (yield from on_its_way.count(keyspace, sample.topic))
        found.append(_status(_told(route, _named(fields), now_ms), sample, coming))
    return found


def of_queue(keyspace: Keyspace, queue: Topic, now_ms: int) -> Operation[RouteStatus | None]:
    """The route that takes from a topic or a group, without its numbers; None: none does."""
    source, group = split(queue.name) if queue.is_group else (queue.name, "")
    for route in (yield from definitions.read_all(keyspace)):
        if route.source == source and (not group or route.group == group):
            (fields,) = yield [("HGETALL", keyspace.route_stats(route.name))]
            return _told(route, _named(fields), now_ms)
    return None


def _named(fields: Any) -> dict[str, bytes]:
    pairs = fields.items() if isinstance(fields, dict) else zip(fields[::2], fields[1::2], strict=True)
    return {shown(bytes(field), 200): value for field, value in pairs}


def _told(route: Route, told: Mapping[str, bytes], now_ms: int) -> RouteStatus:
    """What its runners have counted and said."""
    counts = {field: int(told.get(field, 0)) for field in COUNTERS}
    runners = sorted(
        field.removeprefix(RUNNER)
        for field, at_ms in told.items()
        if field.startswith(RUNNER) and now_ms - int(at_ms) < HERE_MS
    )
    problem = shown(told.get("problem", b""), 500)
    return RouteStatus(
        route=route,
        problem=problem,
        problem_ms=int(told.get("problem_ms", 0)) or None if problem else None,
        last_ms=int(told.get("last_ms", 0)) or None,
        runners=tuple(runners),
        forwarded=counts["forwarded"],
        filtered=counts["filtered"],
        parked=counts["parked"],
        refused=counts["refused"],
    )


def _status(told: RouteStatus, sample: TopicSample | None, coming: int) -> RouteStatus:
    """With the numbers of its queue."""
    if sample is None:
        gone = f"its source {told.route.source!r} cannot be read: define it, or delete the route"
        return replace(told, problem=gone, problem_ms=None)
    waiting: int | None = sample.ready + sample.retrying
    if sample.topic.is_group:
        waiting = None if sample.lag is None else sample.lag + sample.backlog
    return replace(
        told,
        on_its_way=coming,
        queue=sample.topic.name,
        waiting=waiting,
        behind_ms=(sample.lag_ms if waiting else 0) if sample.topic.timed else None,
        in_flight=sample.prepare,
        dead=sample.dead,
    )
