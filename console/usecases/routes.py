"""Defining, pausing, deleting routes, and moving dead letters by hand: allowed, audited, versioned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext

from console.access import Action, User, in_scope, require
from console.engine import engine
from console.errors import ChangedMeanwhile
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from rmq_core.errors import InvalidRoute, UnknownRoute
from rmq_core.model.ids import MessageRef
from rmq_core.model.route import Route, Target
from rmq_core.ops.actions import ActionResult
from rmq_core.routes.redrive import Redriven
from rmq_core.routes.status import RouteStatus


def topics_of(route: Route) -> list[str]:
    """All that a route concerns."""
    return [route.source, *(target.topic for target in route.targets)]


def may_see(user: User, route: Route) -> bool:
    """Whether somebody may deal with all the topics that it concerns."""
    return all(in_scope(user, topic) for topic in topics_of(route))


def read_all(user: User) -> list[RouteStatus]:
    """Those that somebody may see."""
    return [status for status in engine().inspector.routes() if may_see(user, status.route)]


def read(user: User, name: str) -> RouteStatus:
    """One of them. Raises `UnknownRoute`."""
    (status,) = engine().inspector.routes(name)
    if not may_see(user, status.route):
        raise UnknownRoute(f"there is no route {name!r}")
    return status


def stored(user: User, name: str) -> Route | None:
    """Its definition, where there is one that somebody may see."""
    try:
        return read(user, name).route
    except UnknownRoute:
        return None


def save(actor: Actor, wanted: Route, before: Route | None, reason: str) -> RouteStatus:
    """Create a route, or replace the version that was seen; runners follow within a second.

    Raises `Forbidden`, `BadRequest`, `VersionConflict`, `InvalidRoute`, `RouteConflict`, `UnknownTopic`.
    """
    query: dict[str, Any] = {"route": wanted.to_dict(), "expected_version": before.version if before else 0}
    with audited(actor, Action.PUT_ROUTE, topic=wanted.source, query=query, reason=reason) as entry:
        for topic in topics_of(wanted):
            require(actor.user, Action.PUT_ROUTE, topic)
        check_reason(reason)
        if before is not None and wanted.same_definition(before) and wanted.paused == before.paused:
            saved = before  # what changes nothing is no new version
        else:
            version, created_ms = (before.version, before.created_ms) if before else (0, 0)
            saved = _put(actor.user, replace(wanted, created_ms=created_ms), version)
        entry.done = 1
        entry.detail = {"version": saved.version}
    return read(actor.user, saved.name)


def _put(user: User, wanted: Route, version: int) -> Route:
    """What is wrong with it names no route that somebody may not see."""
    try:
        return engine().control.put_route(wanted, version)
    except InvalidRoute as error:
        if error.taken_by and stored(user, error.taken_by) is None:
            words = gettext(
                "Another route takes from “%(topic)s” already, one that is not for you; each message goes to one of"
                " them only."
            )
            raise InvalidRoute(words % {"topic": wanted.source}) from None
        raise


def pause(actor: Actor, name: str, paused: bool, reason: str) -> RouteStatus:
    """Stop a route, or start it again. Raises `Forbidden`, `UnknownRoute`."""
    action = Action.PAUSE_ROUTE if paused else Action.RESUME_ROUTE
    route = read(actor.user, name).route
    with audited(actor, action, topic=route.source, query={"route": name}, reason=reason) as entry:
        require(actor.user, action, route.source)
        check_reason(reason)
        control = engine().control
        saved = control.pause_route(name) if paused else control.resume_route(name)
        entry.done, entry.detail = 1, {"version": saved.version}
    return read(actor.user, name)


def delete(actor: Actor, name: str, reason: str, force: bool = False, seen: Route | None = None) -> None:
    """Delete a route. `seen`: as it was shown; it is deleted as that alone.

    Raises `Forbidden`, `BadRequest` (no reason), `UnknownRoute`, `RouteNotEmpty`, `ChangedMeanwhile`,
    `VersionConflict`.
    """
    route = read(actor.user, name).route
    query = {"route": name, "force": force}
    with audited(actor, Action.DELETE_ROUTE, topic=route.source, query=query, reason=reason) as entry:
        require(actor.user, Action.DELETE_ROUTE, route.source)
        if force:
            require(actor.user, Action.FORCE_DELETE, route.source)
        check_reason(reason, needed=True)
        if seen is not None and (seen.version, seen.created_ms) != (route.version, route.created_ms):
            raise ChangedMeanwhile(moved())
        engine().control.delete_route(name, force, seen=seen)
        entry.done, entry.detail = 1, {"definition": route.to_dict()}


def moved() -> str:
    """That it is not what somebody has seen."""
    return gettext("Somebody else has changed this route meanwhile: open it again.")


def plan_redrive(
    actor: Actor, topic: str, refs: Sequence[MessageRef], target: Target, died_ms: Mapping[MessageRef, int]
) -> list[Redriven]:
    """What `redrive` would do. Raises `Forbidden`, the engine's errors."""
    require(actor.user, Action.REDRIVE, topic)
    require(actor.user, Action.SEND, target.topic)
    return engine().control.plan_redrive(topic, list(refs), target, died_ms=died_ms)


def redrive(
    actor: Actor,
    topic: str,
    refs: Sequence[MessageRef],
    target: Target,
    died_ms: Mapping[MessageRef, int],
    reason: str,
) -> list[ActionResult]:
    """Move dead letters to another topic: a route by hand. `died_ms`: when those died that are meant, where that
    was seen. Raises `Forbidden`, `BadRequest`, the engine's errors."""
    query = {
        "messages": [[ref.slot, ref.id] for ref in refs],
        "target": Route("x", "x", (target,)).to_dict()["targets"][0],
    }
    with audited(actor, Action.REDRIVE, topic=topic, query=query, reason=reason, asked=max(1, len(refs))) as entry:
        require(actor.user, Action.REDRIVE, topic)
        require(actor.user, Action.SEND, target.topic)
        check_reason(reason, needed=True)
        results = engine().control.redrive(topic, list(refs), target, died_ms=died_ms)
        entry.done = sum(result.status == "done" for result in results)
        entry.detail = {"messages": [[ref.slot, ref.id, status] for ref, status in results[:200]]}
        entry.result = entry.Result.of(entry.done, entry.done == len(refs))
    return results
