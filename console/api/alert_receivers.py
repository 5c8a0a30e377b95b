"""Who is told of alerts. Where they are and their secrets come in, and never out."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path as PathParam
from ninja import Router, Status

from console.access import Action, Permission
from console.api.alert_shapes import ReceiverBody, ReceiverChange, ReceiverList, ReceiverOut
from console.api.http.callers import Caller, caller_of
from console.api.http.lists import readable
from console.api.http.preconditions import IfMatch, check_row
from console.api.http.schemas import NEEDED_WHY
from console.models import AlertDelivery, AlertReceiver
from console.serializers.alerts import receiver_json
from console.serializers.text import row_etag
from console.usecases import alerts

router = Router(tags=["alerts"])
Number = Annotated[int, PathParam(ge=1, le=2**53)]


@router.get("", response=ReceiverList, url_name="alert-receivers", summary="Who is told of alerts, by name")
def all_receivers(request: HttpRequest) -> dict[str, Any]:
    caller_of(request).require(Permission.VIEW)
    return {"receivers": readable(ReceiverOut, AlertReceiver.objects.all(), _as_json)}


@router.post("", response={201: ReceiverOut}, url_name="alert-receiver-create", summary="Define a receiver")
def create_receiver(request: HttpRequest, response: HttpResponse, body: ReceiverBody) -> Any:
    """A test is sent by another call."""
    made = _put(_administrator(request), AlertReceiver(), body)
    response["Location"] = reverse("console-api:alert-receiver", kwargs={"number": made.pk})
    response["ETag"] = row_etag(made.changed)
    return Status(201, _as_json(made))


@router.get("/{int:number}", response=ReceiverOut, url_name="alert-receiver", summary="One receiver")
def one_receiver(request: HttpRequest, response: HttpResponse, number: Number) -> dict[str, Any]:
    caller_of(request).require(Permission.VIEW)
    row = alerts.find_receiver(number)
    response["ETag"] = row_etag(row.changed)
    return _as_json(row)


@router.patch(
    "/{int:number}", response=ReceiverOut, url_name="alert-receiver-change", summary="Change, disable or enable it"
)
def change_receiver(
    request: HttpRequest, response: HttpResponse, number: Number, body: ReceiverChange, if_match: IfMatch = ""
) -> dict[str, Any]:
    """With `If-Match` only what is as it was seen."""
    caller = _administrator(request)
    row = alerts.find_receiver(number)
    check_row(row.changed, if_match)
    row = _put(caller, row, body)
    response["ETag"] = row_etag(row.changed)
    return _as_json(row)


@router.delete("/{int:number}", response={204: None}, url_name="alert-receiver-delete", summary="Delete it")
def delete_receiver(request: HttpRequest, number: Number, if_match: IfMatch = "", reason: str = NEEDED_WHY) -> Any:
    """What it has not been sent yet is not sent any more. A rule that named it alone tells all receivers then. With
    `If-Match` only what is as it was seen."""
    caller = _administrator(request)
    row = alerts.find_receiver(number)
    check_row(row.changed, if_match)
    alerts.remove_receiver(caller.actor, row, reason)
    return Status(204, None)


@router.post(
    "/{number}:test", response={204: None}, url_name="alert-receiver-test",
    summary="Send a message that says it is a test",
)  # fmt: skip
def test_receiver(request: HttpRequest, number: Number) -> Any:
    caller = _administrator(request)
    alerts.test_receiver(caller.actor, alerts.find_receiver(number))
    return Status(204, None)


def _administrator(request: HttpRequest) -> Caller:
    caller = caller_of(request)
    caller.require(Action.ALERT_RECEIVER, "")
    return caller


def _put(caller: Caller, row: AlertReceiver, body: ReceiverChange) -> AlertReceiver:
    given = body.model_dump(exclude_none=True, exclude={"reason"})
    for name, value in given.items():
        setattr(row, name, value)
    return alerts.put_receiver(caller.actor, row, body.reason, [name for name in alerts.SECRETS if name in given])


def _as_json(row: AlertReceiver) -> dict[str, Any]:
    unsent = row.deliveries.exclude(state=AlertDelivery.State.SENT).order_by("-pk")
    newest = unsent.exclude(error="").values_list("error", flat=True)[:1]
    return receiver_json(row, unsent.filter(state=AlertDelivery.State.WAITING).count(), list(newest))
