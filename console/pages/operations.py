"""The operations: every bulk action, how far it is, its report, and stopping, resuming, undoing it."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from console.access import Permission, allowed, require
from console.api.downloads import download
from console.errors import BadRequest
from console.models import Operation
from console.pages.bulk import actor
from console.pages.data import action_view, body_of, choice, data_view, error_response, text
from console.pages.shell import console_page, render_page
from console.serializers.operations import not_done, operation_json, report
from console.serializers.text import FORMATS
from console.usecases import bulk
from console.usecases.audit import REASON_MAX

PAGE = 50
LIVE_MOST = 200


@console_page
def page(request: HttpRequest) -> HttpResponse:
    return render_page(
        request,
        "console/operations.html",
        gettext("Operations"),
        data={"urls": {"data": reverse("console:operations-data")}, "list": _list(request), "user_id": request.user.pk},
    )


@console_page
def one(request: HttpRequest, ident: uuid.UUID) -> HttpResponse:
    operation = _find(ident)
    if operation is None:
        words = gettext("There is no operation with this number; it may be too old to be kept.")
        return render_page(request, "console/missing.html", gettext("Operation"), error=words, status=404)
    return render_page(
        request,
        "console/operation.html",
        gettext("Operation on %(topic)s") % {"topic": operation.topic},
        data={
            "urls": {
                "data": reverse("console:operation-data", args=[ident]),
                "report": reverse("console:operation-report", args=[ident]),
                "act": reverse("console:operation-act", args=[ident, "stop"]).removesuffix("stop/"),
                "operations": reverse("console:operations"),
            },
            "operation": _detail(request, operation),
            "user_id": request.user.pk,
        },
    )


@data_view
def listed(request: HttpRequest) -> dict[str, Any]:
    """The newest operations, or those before `before` (its id); `topic` and `state` narrow them."""
    return _list(request)


@data_view
def data(request: HttpRequest, ident: uuid.UUID) -> dict[str, Any] | HttpResponse:
    operation = _find(ident)
    return _gone() if operation is None else _detail(request, operation)


@data_view
def report_file(request: HttpRequest, ident: uuid.UUID) -> HttpResponse | StreamingHttpResponse:
    """Every message that was not done, with the reason."""
    require(request.user, Permission.READ_PAYLOAD)
    form = choice(request.GET, "format", tuple(FORMATS))
    operation = _find(ident)
    return (
        _gone()
        if operation is None
        else download(request, report(operation, form), f"operation-{ident}.{form}", FORMATS[form])
    )


@action_view
def act(request: HttpRequest, ident: uuid.UUID, action: str) -> dict[str, Any] | HttpResponse:
    """`stop`, `resume` or `undo` (`{reason}`) → the operation; for `undo` the new one that does it."""
    operation = _find(ident)
    if operation is None:
        return _gone()
    by = actor(request)
    if action == "stop":
        found = bulk.stop(by, operation)
    elif action == "resume":
        found = bulk.resume(by, operation)
    elif action == "undo":
        found = bulk.undo(by, operation, text(body_of(request), "reason", REASON_MAX))
    else:
        raise BadRequest(gettext("There is no action of that name."))
    return operation_json(found, allowed(request.user, Permission.READ_PAYLOAD))


def _list(request: HttpRequest) -> dict[str, Any]:
    query = request.GET
    found = Operation.objects.defer("refs")
    topic, state = text(query, "topic", 100), choice(query, "state", ("", "live", "ended"))
    if topic:
        found = found.filter(topic=topic)
    if state == "live":
        found = found.filter(state__in=Operation.LIVE)
    elif state == "ended":
        found = found.exclude(state__in=Operation.LIVE)
    if query.get("before"):
        last = _find(_ident(text(query, "before", 40)))
        if last is not None:
            found = found.filter(Q(created__lt=last.created) | Q(created=last.created, pk__lt=last.pk))
    rows = list(found[: PAGE + 1])
    payload = allowed(request.user, Permission.READ_PAYLOAD)
    return {
        "operations": [operation_json(each, payload) for each in rows[:PAGE]],
        "more": len(rows) > PAGE,
        "as_of_ms": _now_ms(),
    }


def _detail(request: HttpRequest, operation: Operation) -> dict[str, Any]:
    payload = allowed(request.user, Permission.READ_PAYLOAD)
    undone_by = operation.undone_by.order_by("created").values_list("pk", flat=True)
    return operation_json(operation, payload) | {
        "not_done": not_done(operation, payload),
        "undone_by": [str(each) for each in undone_by],
        "as_of_ms": _now_ms(),
    }


def _find(ident: uuid.UUID) -> Operation | None:
    return Operation.objects.defer("refs").filter(pk=ident).first()


def _ident(given: str) -> uuid.UUID:
    try:
        return uuid.UUID(given)
    except ValueError:
        raise BadRequest(gettext("There is no operation with this number; it may be too old to be kept.")) from None


def _now_ms() -> int:
    return round(timezone.now().timestamp() * 1000)


def _gone() -> HttpResponse:
    words = gettext("There is no operation with this number; it may be too old to be kept.")
    return error_response(404, "UnknownOperation", words)
