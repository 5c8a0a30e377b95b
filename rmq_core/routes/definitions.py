"""Definitions of routes: versioned, by compare-and-set, the same for every client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rmq_core.errors import (
    InvalidRoute,
    InvalidTopic,
    RouteConflict,
    RouteNotEmpty,
    TopicNotEmpty,
    UnknownRoute,
    UnknownTopic,
    VersionConflict,
)
from rmq_core.figures import digits
from rmq_core.model import formats
from rmq_core.model.group import split
from rmq_core.model.route import Route
from rmq_core.model.text import shown
from rmq_core.model.topic import Topic
from rmq_core.ops import on_its_way, registry
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, script
from rmq_core.queries import definitions
from rmq_core.queries.namespace_format import ask
from rmq_core.streams import groups


def read_all(keyspace: Keyspace) -> Operation[list[Route]]:
    """Every route that can be read, by name: one bad row hides no other."""
    stored = yield from ask(keyspace, ("HGETALL", keyspace.routes[0]))
    pairs = stored.items() if isinstance(stored, dict) else zip(stored[::2], stored[1::2], strict=True)
    found = []
    for _, text in pairs:
        try:
            found.append(Route.from_stored(text))
        except InvalidRoute:
            continue
    return sorted(found, key=lambda route: route.name)


def read(keyspace: Keyspace, name: str) -> Operation[Route]:
    """One of them. Raises `UnknownRoute`, `InvalidRoute`."""
    stored = yield from ask(keyspace, ("HGET", keyspace.routes[0], name))
    if stored is None:
        raise UnknownRoute(
            f"there is no route {shown(name, 100)!r}; define it: client.define_route(Route(…)), or rmq route"
        )
    return Route.from_stored(stored)


def put(keyspace: Keyspace, route: Route, expected_version: int) -> Operation[Route]:
    """Creates (0) or replaces (its version) a definition, with the group through which it reads a stream.

    Raises `InvalidRoute`, `UnknownTopic`, `RouteConflict`, `VersionConflict`.
    """
    others = [other for other in (yield from read_all(keyspace)) if other.name != route.name]
    source = yield from _checked(keyspace, route, others)
    if expected_version:
        before = yield from read(keyspace, route.name)
        if (before.source, before.start) != (route.source, route.start):
            raise RouteConflict(
                f"route {route.name!r} leads from {before.source!r} (start={before.start}), which never changes: make"
                " another one"
            )
    args = [route.name, expected_version, route.to_json(), keyspace.route_changes, route.created_ms, formats.NAMESPACE]
    (reply,) = yield [Call(script("topic_put"), [*keyspace.routes, keyspace.format], args)]
    # Should this process die in between, whoever runs the route does it: see `complete`.
    yield from complete(keyspace, route, source)
    return Route.from_stored(reply)


def define(keyspace: Keyspace, route: Route) -> Operation[Route]:
    """What an application declares: creates the route, or takes over the one there is. Raises `RouteConflict`."""
    while True:
        try:
            found = yield from read(keyspace, route.name)
        except UnknownRoute:
            try:
                return (yield from put(keyspace, route, 0))
            except VersionConflict:
                continue
        if (found.source, found.targets) != (route.source, route.targets):
            raise RouteConflict(
                f"route {route.name!r} is defined with other targets or another source: use what is stored, or change"
                " it with control.put_route"
            )
        return found


def pause(keyspace: Keyspace, name: str, paused: bool) -> Operation[Route]:
    """Stops or starts it; whoever changes something else meanwhile keeps that."""
    while True:
        before = yield from read(keyspace, name)
        if before.paused == paused:
            return before
        try:
            return (yield from put(keyspace, replace(before, paused=paused), before.version))
        except VersionConflict:
            continue


def delete(keyspace: Keyspace, name: str, force: bool = False, seen: Route | None = None) -> Operation[None]:
    """Deletes a route, with its group of a stream. Messages that were not forwarded stay where they are.

    Raises `UnknownRoute`, `RouteNotEmpty` while something is on its way or unfinished, unless ``force``, and
    `VersionConflict` where it is not ``seen`` any more.
    """
    route = yield from read(keyspace, name)
    registry.check_seen(route, seen)
    source: Topic | None = None
    queue: Topic | None = None
    try:
        source = yield from definitions.read(keyspace, route.source)
        queue = yield from definitions.read(keyspace, route.queue(source))
    except UnknownTopic:
        pass  # there is nothing left of it to look at
    if queue is not None and not force:
        left = yield from on_its_way.count(keyspace, queue)
        if left:
            raise RouteNotEmpty(
                f"route {name!r} has taken {digits(left)} message(s) that its targets have not got yet: let it run"
                " until they have, or force the deletion and lose them"
            )
    if queue is not None and queue.is_group and source is not None:
        try:
            yield from groups.delete(keyspace, source, route.group, force)
        except TopicNotEmpty as error:
            raise RouteNotEmpty(f"{error}") from None
    args = [name, route.version, keyspace.route_changes, route.created_ms, formats.NAMESPACE]
    yield [Call(script("topic_delete"), [*keyspace.routes, keyspace.format], args)]
    yield [("DEL", keyspace.route_stats(name))]


def complete(keyspace: Keyspace, route: Route, source: Topic) -> Operation[Topic]:
    """The queue that the route takes from; of a stream its group, which is made where it is not there."""
    if not source.is_stream:
        return source
    return (yield from groups.define(keyspace, source, route.group, route.start, {"waits": True}))


def _checked(keyspace: Keyspace, route: Route, others: Sequence[Route]) -> Operation[Topic]:
    """The definition of its source. Raises `InvalidRoute`, `UnknownTopic`."""
    source = yield from definitions.read(keyspace, route.source)
    try:
        split(route.queue(source)) if source.is_stream else None
    except InvalidTopic as error:
        raise InvalidRoute(f"it reads {route.source!r} through a group of its own: {error}") from None
    for target in route.targets:
        target.check((yield from definitions.read(keyspace, target.topic)))
    if not source.is_stream:
        if route.start != "end":
            raise InvalidRoute("start is of routes that read a stream: of a queue, all that it holds is forwarded")
        for other in others:
            if other.source == route.source:
                taken = InvalidRoute(
                    f"route {other.name!r} takes from {route.source!r} already, and each message goes to one of them"
                    " only: give that one more targets"
                )
                taken.taken_by = other.name
                raise taken
    leads: dict[str, set[str]] = {}
    for each in (*others, route):
        leads.setdefault(each.source, set()).update(target.topic for target in each.targets)
    reached, ahead = set[str](), {target.topic for target in route.targets}
    while ahead:
        reached |= ahead
        ahead = {to for name in ahead for to in leads.get(name, ())} - reached
    if route.source in reached:
        raise InvalidRoute(f"messages would go round for ever: {route.source!r} is reached from {route.source!r} again")
    return source
