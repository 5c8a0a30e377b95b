"""Who causes a topic's load."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Schema

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.routers import topics as router
from console.api.http.schemas import TopicName
from console.engine import engine
from rmq_core.queries.load import TENANTS_MOST


class TenantLoad(Schema):
    """What was sent and taken of its messages a second, lately; the shares are of all that name a tenant (0 to 1)."""

    tenant: str
    sent_s: float
    taken_s: float
    sent_share: float
    taken_share: float


class TenantTurn(Schema):
    """One tenant of which something waits; `share`: of the turns (0 to 1), while those who wait now do; `limit`: what
    else caps it ("": nothing), `capped`: whether it may have nothing because of that now. "": messages that name no
    tenant."""

    tenant: str
    weight: int
    waiting: int
    share: float
    limit: str
    capped: bool


class TenantLoads(Schema):
    """The most load first. `sent_s` and `taken_s` are of all messages that name a tenant; older load counts half for
    every `half_life_ms`. `over_s`: so much the figures of one tenant may be too high; 0: they are exact. `fair`:
    whether tenants take turns; `turns`: of whom most waits, whoever is next first; `without_turn`: messages that are
    still to be given one."""

    at_ms: int
    half_life_ms: int
    sent_s: float
    taken_s: float
    over_s: float
    tenants: list[TenantLoad]
    fair: bool
    turns: list[TenantTurn]
    without_turn: int


@router.get(
    "/{rmq_topic:topic}/tenants",
    response=TenantLoads,
    tags=["topics"],
    url_name="tenants",
    summary="Who causes the load",
)
def tenants(
    request: HttpRequest,
    topic: TopicName,
    limit: Annotated[int, Query(ge=1, le=TENANTS_MOST, description="So many tenants at most.")] = 20,
) -> dict[str, Any]:
    """By what messages say of whose they are (`tenant`, or the topic's `tenant_from`)."""
    caller_of(request).require(Permission.VIEW, topic)
    return asdict(engine().inspector.tenants(topic, limit))
