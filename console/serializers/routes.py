"""Routes as JSON."""

from __future__ import annotations

from typing import Any

from rmq_core.model.route import Route
from rmq_core.routes.redrive import Redriven
from rmq_core.routes.status import RouteStatus

_TOLD = (
    *("queue", "state", "waiting", "behind_ms", "in_flight", "dead", "on_its_way", "forwarded", "filtered", "parked"),
    *("refused", "problem", "problem_ms", "last_ms"),
)


def route_etag(route: Route) -> str:
    """The version of a definition as an entity tag."""
    return f'"{route.version}-{route.created_ms}"'


def route_json(status: RouteStatus) -> dict[str, Any]:
    """The definition, how it does, and its ETag."""
    told = {name: getattr(status, name) for name in _TOLD}
    return {**status.route.to_dict(), **told, "runners": list(status.runners), "etag": route_etag(status.route)}


def redriven_json(planned: Redriven, reads: bool) -> dict[str, Any]:
    """What moving a dead letter would do; its id may hold content, and so is not for everybody."""
    return {
        "slot": planned.ref.slot,
        "id": planned.ref.id,
        "status": planned.status,
        "to_slot": planned.slot,
        "to_id": planned.id or None if reads else None,
        "problem": planned.reason,
    }
