"""Actions on many messages: by their ids at once, by a filter as an operation that goes on by itself."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Schema, Status
from pydantic import ConfigDict, Field, model_validator

from console.access import Action, Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.errors import invalid
from console.api.http.routers import topics as router
from console.api.http.schemas import ID_MAX, ActionOutcome, BigIn, Confirm, Reason, Strict, Text, TopicName, check_why
from console.api.http.states import AskedBacklogState
from console.api.messages.queries import PlaceValue, Rescheduling, canonical, outcome_of, refs_of
from console.api.operations import OperationView, operation_of
from console.api.rows import Row, row_of
from console.engine import engine
from console.usecases.actions import MESSAGES_MAX, PERFORMED, ActionRequest, perform
from console.usecases.bulk import bulk
from console.usecases.bulk.bulk_requests import (
    CANARY_MAX,
    RATE_MAX,
    REFS_MAX,
    SPREAD_MAX_MS,
    BulkRequest,
)
from console.usecases.bulk.costs import cost_of
from console.usecases.confirming import CONFIRM_ABOVE
from rmq_core.model.filters import MessageFilter
from rmq_core.model.ids import MessageRef
from rmq_core.model.tenants import TENANT_MAX
from rmq_core.model.topic import MAX_SLOTS


class Named(Strict):
    """A message with its slot, which saves looking for it. `at_ms`, of a dead letter or of what was removed: of its
    row; where another one has its id by now, nothing is done (`replaced`). `place`, of what waits: of its row; where it
    was moved, or sent anew, since, nothing is done (`moved`)."""

    slot: int = Field(ge=0, lt=MAX_SLOTS)
    id: str = Field(min_length=1, max_length=ID_MAX)
    at_ms: BigIn | None = None
    place: PlaceValue = None


class DeadFilter(Strict):
    """Everything that is given must hold. `text`: in id or content; `where`: holds
    for the content, which is JSON (`order.total > 100`); `error`: in the failure's class or message."""

    text: Text = Field("", max_length=1_000)
    where: Text = Field("", max_length=1_000)
    error: Text = Field("", max_length=1_000)
    fingerprint: Text = Field("", max_length=64, description="A cluster of dead letters.")
    tenant: Text | None = Field(None, max_length=TENANT_MAX, description="Whose they are; empty: nobody's.")
    slot: int | None = Field(None, ge=0, lt=MAX_SLOTS)
    since_ms: BigIn | None = Field(None, description="Of the message's time: due, died or removed.")
    until_ms: BigIn | None = None


class WaitingFilter(DeadFilter):
    state: AskedBacklogState


class BulkBody(Strict):
    """`ids` or `filter`. With `validate_only` nothing happens, and the answer is how many messages it would meet.
    A filter asks for a `reason`; with ids those actions do that take something out or bring something back."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "anyOf": [
                {"required": ["reason"], "properties": {"reason": {"minLength": 1}}},
                {"required": ["validate_only"], "properties": {"validate_only": {"const": True}}},
                {"required": ["ids"], "properties": {"ids": {"type": "array"}}},
            ]
        },
    )
    FORMER: ClassVar[dict[str, tuple[str, int]]] = {"spread_s": ("spread_ms", 1000)}
    ids: list[str | Named] | None = Field(None, min_length=1, max_length=REFS_MAX)
    filter: DeadFilter | None = None
    reason: Reason = ""
    validate_only: bool = False
    confirm: Confirm = Field(
        "", max_length=100, description=f"The topic's name, where more than {CONFIRM_ABOVE:,} messages match."
    )
    rate_per_s: float = Field(0, ge=0, le=RATE_MAX, description="At most so many messages a second.")
    spread_ms: int = Field(0, ge=0, le=SPREAD_MAX_MS, description="Evenly over so long.")

    @model_validator(mode="after")
    def _one_of(self) -> BulkBody:
        if (self.ids is None) == (self.filter is None):
            raise ValueError("give ids or filter, one of them")
        if self.ids is None:
            check_why(self.reason, self.validate_only)
        return self


class RequeueBody(BulkBody):
    canary: int = Field(0, ge=0, le=CANARY_MAX, description="So many first; the rest only if those end well.")


class WaitingBody(BulkBody):
    filter: WaitingFilter | None = None


class RestoreBody(BulkBody):
    overdue: bool = Field(
        True, description="With `filter`: also those whose time has gone by meanwhile, which are delivered at once."
    )


class RescheduleBody(Rescheduling, WaitingBody):
    pass


class Cost(Schema):
    """About. `looks`: so many messages the filter has to look at. `for_ms`: so long it takes, at `pace_s` messages a
    second (`measured`: as former operations went) or the slower pace asked for; `redis_ms`: so long of that Redis works
    for it, in `steps` calls between which others are served, and it can be stopped. `drain_ms`: so long workers need
    for what becomes ready, at the pace of late; null: nothing does, or nobody works it off."""

    looks: int
    steps: int
    for_ms: int
    redis_ms: int
    pace_s: float
    measured: bool
    drain_ms: int | None


class Preview(Schema):
    """How many messages it would meet; not `exact`: an estimate from `looked_at` of `total`. `confirm`: so many that
    the start asks for the topic's name. `purges`: what it takes out is gone for good. `expires_first`: so many of the
    first `expires_looked_at` have an `expires_ms` that is over before they could be delivered, and would be left."""

    count: int
    exact: bool
    looked_at: int
    total: int
    examples: list[Row]
    confirm: bool
    purges: bool
    expires_first: int
    expires_looked_at: int
    cost: Cost
    as_of_ms: int


_ANSWERS: Any = {200: ActionOutcome | Preview, 202: OperationView}


@router.post(
    "/{rmq_topic:topic}/dead:requeue",
    response=_ANSWERS,
    url_name="requeue",
    tags=["dead letters"],
    summary="Bring dead letters back",
)
def requeue(request: HttpRequest, response: HttpResponse, topic: TopicName, body: RequeueBody) -> Any:
    """Up to 500 `ids` without a pace: done when answered (200). Else an operation (202): follow its address."""
    return _act(request, response, topic, Action.REQUEUE, body, "dead", canary=body.canary)


@router.post(
    "/{rmq_topic:topic}/dead:drop",
    response=_ANSWERS,
    url_name="drop",
    tags=["dead letters"],
    summary="Drop dead letters",
)
def drop(request: HttpRequest, response: HttpResponse, topic: TopicName, body: BulkBody) -> Any:
    """They can be restored for a while (the topic's `undo_ms`)."""
    return _act(request, response, topic, Action.DROP, body, "dead")


@router.post(
    "/{rmq_topic:topic}/messages:cancel",
    response=_ANSWERS,
    url_name="cancel-many",
    tags=["bulk"],
    summary="Cancel many",
)
def cancel_many(request: HttpRequest, response: HttpResponse, topic: TopicName, body: WaitingBody) -> Any:
    return _act(request, response, topic, Action.CANCEL, body)


@router.post(
    "/{rmq_topic:topic}/messages:run", response=_ANSWERS, url_name="run-many", tags=["bulk"], summary="Deliver many now"
)
def run_many(request: HttpRequest, response: HttpResponse, topic: TopicName, body: WaitingBody) -> Any:
    return _act(request, response, topic, Action.RUN_NOW, body)


@router.post(
    "/{rmq_topic:topic}/messages:reschedule",
    response=_ANSWERS,
    url_name="reschedule-many",
    tags=["bulk"],
    summary="Another time or priority for many",
)
def reschedule_many(request: HttpRequest, response: HttpResponse, topic: TopicName, body: RescheduleBody) -> Any:
    return _act(request, response, topic, Action.RESCHEDULE, body, due_ms=body.due(), priority=body.priority)


@router.post(
    "/{rmq_topic:topic}/messages:restore",
    response=_ANSWERS,
    url_name="restore-many",
    tags=["bulk"],
    summary="Restore cancelled and dropped messages",
)
def restore_many(request: HttpRequest, response: HttpResponse, topic: TopicName, body: RestoreBody) -> Any:
    """All of them with an empty filter: `{"filter": {}}`."""
    return _act(request, response, topic, Action.RESTORE, body, "trash", overdue=body.overdue)


def _act(
    request: HttpRequest,
    response: HttpResponse,
    topic: str,
    action: Action,
    body: BulkBody,
    state: str | None = None,
    canary: int = 0,
    due_ms: int | None = None,
    priority: int | None = None,
    overdue: bool = True,
) -> Any:
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)  # whoever may look and not act leaves a trace: what acts asks for the rest
    refs = _refs(caller, topic, body, state) if body.ids is not None else []
    seen = _seen(body, state)
    paced = body.rate_per_s or body.spread_ms or canary
    if refs and overdue and not paced and not body.validate_only and len(refs) <= MESSAGES_MAX and action in PERFORMED:
        few = ActionRequest(action, topic, refs, body.reason, due_ms=due_ms, priority=priority, seen=seen)
        return Status(200, outcome_of(perform(caller.actor, few)))
    wanted = BulkRequest(
        action,
        topic,
        filter=_filter(body, state),
        refs=refs,
        reason=body.reason,
        confirm=body.confirm,
        rate_per_s=body.rate_per_s,
        canary=canary,
        spread_ms=body.spread_ms,
        due_ms=due_ms,
        priority=priority,
        overdue=overdue,
        seen=seen,
    )
    if body.validate_only:
        found = bulk.preview(caller.actor, wanted)
        price = cost_of(wanted, found)
        about = {
            "examples": [row_of(row, caller.payload) for row in found.examples],
            "confirm": found.count > CONFIRM_ABOVE,
            "purges": wanted.purges,
            "cost": asdict(price) | asdict(price.cost),
            "as_of_ms": engine().inspector.now_ms(),
        }
        return Status(200, asdict(found) | about)
    operation = bulk.start(caller.actor, wanted)
    response["Location"] = reverse("console-api:operation", kwargs={"operation": operation.pk})
    return Status(202, operation_of(operation, caller))


def _refs(caller: Caller, topic: str, body: BulkBody, state: str | None) -> list[MessageRef]:
    named = [MessageRef(each.slot, canonical(each.id)) for each in body.ids or [] if isinstance(each, Named)]
    looked_for = [each for each in body.ids or [] if isinstance(each, str)]
    if len(looked_for) > MESSAGES_MAX:
        raise invalid("ids", f"at most {MESSAGES_MAX} ids without their slots; give {{slot, id}}, or a filter")
    if any(not 0 < len(each) <= ID_MAX for each in looked_for):
        raise invalid("ids", f"an id has 1 to {ID_MAX} characters")
    return named + refs_of(caller, topic, looked_for, in_trash=state == "trash")


def _seen(body: BulkBody, state: str | None) -> dict[MessageRef, float]:
    """When those died, or were removed, or where those wait that the caller means."""
    named = {MessageRef(each.slot, canonical(each.id)): each for each in body.ids or [] if isinstance(each, Named)}
    died: dict[MessageRef, float] = {ref: each.at_ms for ref, each in named.items() if each.at_ms is not None}
    waits = {ref: each.place for ref, each in named.items() if each.place is not None}
    if died if state is None else waits:
        raise invalid("ids", "at_ms is of dead letters, and of what was removed; place is of what waits")
    return waits if state is None else died


def _filter(body: BulkBody, state: str | None) -> MessageFilter | None:
    if body.filter is None:
        return None
    given = body.filter.model_dump(exclude_unset=True, exclude_none=True)
    return MessageFilter.from_mapping(given if state is None else {**given, "state": state})
