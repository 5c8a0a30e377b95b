"""Alerts: what fires and what did, the rules, and silences."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path as PathParam
from ninja import Router, Status
from ninja.params.functions import Body

from console.access import Action, Permission
from console.alerts.looking import is_silenced
from console.alerts.preview import preview
from console.api.alert_shapes import (
    AlertList,
    AlertOut,
    PreviewOut,
    RuleBody,
    RuleChange,
    RuleList,
    RuleOut,
    SilenceBody,
    SilenceList,
    SilenceOut,
)
from console.api.http.callers import Caller, caller_of
from console.api.http.cursors import cursor_of, number_in
from console.api.http.lists import readable
from console.api.http.preconditions import IfMatch, check_tag
from console.api.http.schemas import NEEDED_WHY, Cursor, Limit, Text, WithReason
from console.engine import engine
from console.models import Alert, AlertLook, AlertRule, AlertSilence
from console.serializers.alerts import alert_json, rule_etag, rule_json, silence_json
from console.usecases import alerts
from console.usecases.alerts import RULE_FIELDS

router = Router(tags=["alerts"])
RuleName = Annotated[Text, PathParam(description="Its name.", min_length=1, max_length=60, examples=["no-workers"])]
Number = Annotated[int, PathParam(ge=1, le=2**53)]
SILENCES_MOST = 200


@router.get("", response=AlertList, url_name="alerts", summary="What fires, is pending, or did fire; newest first")
def all_alerts(
    request: HttpRequest,
    state: Literal["open", "pending", "firing", "resolved"] | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """`open`: pending or firing. A token that is for some topics may get fewer on a page."""
    caller = _caller(request)
    now_ms = engine().inspector.now_ms()
    rows = (
        Alert.objects.order_by("-id").select_related("rule").prefetch_related("deliveries__receiver", "rule__receivers")
    )
    if state == "open":
        rows = rows.exclude(state=Alert.State.RESOLVED)
    elif state:
        rows = rows.filter(state=state)
    if cursor:
        rows = rows.filter(pk__lt=number_in(cursor, "alerts", state or ""))
    found = list(rows[: limit + 1])
    shown = [each for each in found[:limit] if alerts.sees(caller.user, each.topic, each.topics)]
    silences = list(AlertSilence.objects.filter(from_ms__lte=now_ms, until_ms__gt=now_ms))

    def as_json(alert: Alert) -> dict[str, Any]:
        by = [each for each in silences if alert.state != Alert.State.RESOLVED and is_silenced(alert, [each])]
        found = alert_json(alert, by[0] if by else None)
        for by_what in filter(None, (found["rule"], found["silence"])):
            by_what["topics"] = alerts.shown_patterns(caller.user, by_what["topics"], alert.topic)
        return found

    more = len(found) > limit
    return {
        "as_of_ms": now_ms,
        "looked_ms": AlertLook.objects.values_list("at_ms", flat=True).first(),
        "alerts": readable(AlertOut, shown, as_json),
        "next": cursor_of(found[limit - 1].pk, "alerts", state or "") if more else None,
    }


@router.get("/rules", response=RuleList, url_name="alert-rules", summary="All rules, by name")
def all_rules(request: HttpRequest) -> dict[str, Any]:
    caller = _caller(request)
    rows = [
        each
        for each in AlertRule.objects.prefetch_related("receivers")
        if alerts.sees_patterns(caller.user, each.topics)
    ]
    return {"rules": readable(RuleOut, rows, rule_json)}


@router.post("/rules", response={201: RuleOut}, url_name="alert-rule-create", summary="Define a rule")
def create_rule(request: HttpRequest, response: HttpResponse, body: RuleBody) -> Any:
    caller_of(request).require(Action.ALERT_RULE)
    made = _put(request, AlertRule(name=body.name), body)
    response["Location"] = reverse("console-api:alert-rule", kwargs={"name": made.name})
    response["ETag"] = rule_etag(made)
    return Status(201, rule_json(made))


@router.post(
    "/rules:preview", response=PreviewOut, url_name="alert-rule-preview",
    summary="When such a rule would have fired, within the last seven days",
)  # fmt: skip
def preview_rule(request: HttpRequest, body: RuleChange) -> dict[str, Any]:
    """Nothing is saved."""
    caller = _caller(request)
    rule = AlertRule(name="preview")
    _set(rule, body)
    alerts.check_rule(rule)
    inspector = engine().inspector
    names = [topic.name for topic in inspector.queues() if caller.sees(topic.name)]
    found = preview(rule, names, inspector.now_ms(), everything=caller.sees(""))
    return {**vars(found), "firings": [vars(each) for each in found.firings]}


@router.get("/rules/{name}", response=RuleOut, url_name="alert-rule", summary="One rule")
def one_rule(request: HttpRequest, response: HttpResponse, name: RuleName) -> dict[str, Any]:
    caller = _caller(request)
    rule = alerts.find_rule(caller.user, name)
    response["ETag"] = rule_etag(rule)
    return rule_json(rule)


@router.patch(
    "/rules/{name}", response=RuleOut, url_name="alert-rule-change", summary="Change, disable or enable a rule"
)
def change_rule(
    request: HttpRequest, response: HttpResponse, name: RuleName, body: RuleChange, if_match: IfMatch = ""
) -> dict[str, Any]:
    """With `If-Match` only what is as it was seen."""
    caller = caller_of(request)
    caller.require(Action.ALERT_RULE)
    rule = alerts.find_rule(caller.user, name)
    check_tag(rule_etag(rule), if_match)
    rule = _put(request, rule, body)
    response["ETag"] = rule_etag(rule)
    return rule_json(rule)


@router.delete("/rules/{name}", response={204: None}, url_name="alert-rule-delete", summary="Delete a rule")
def delete_rule(request: HttpRequest, name: RuleName, if_match: IfMatch = "", reason: str = NEEDED_WHY) -> Any:
    """What it found stays in the list; what fires by it is over. With `If-Match` only what is as it was seen."""
    caller = caller_of(request)
    caller.require(Action.ALERT_RULE)
    rule = alerts.find_rule(caller.user, name)
    check_tag(rule_etag(rule), if_match)
    alerts.remove_rule(caller.actor, rule, reason)
    return Status(204, None)


@router.get("/silences", response=SilenceList, url_name="alert-silences", summary="Silences, and those that ended last")
def all_silences(request: HttpRequest) -> dict[str, Any]:
    caller = _caller(request)
    rows = AlertSilence.objects.iterator()
    seen = islice((each for each in rows if alerts.sees_patterns(caller.user, each.topics)), SILENCES_MOST)
    return {"as_of_ms": engine().inspector.now_ms(), "silences": readable(SilenceOut, seen, silence_json)}


@router.post(
    "/silences", response={201: SilenceOut}, url_name="alert-silence-create", summary="Tell nobody for a while"
)
def create_silence(request: HttpRequest, response: HttpResponse, body: SilenceBody) -> Any:
    """What fires meanwhile is listed, and told when the silence ends and it still fires."""
    caller = caller_of(request)
    caller.require(Action.SILENCE)
    now_ms = engine().inspector.now_ms()
    row = alerts.silence(caller.actor, body.rule, body.topics, now_ms, now_ms + body.for_ms, body.reason)
    response["Location"] = reverse("console-api:alert-silence", kwargs={"number": row.pk})
    return Status(201, silence_json(row))


@router.get("/silences/{int:number}", response=SilenceOut, url_name="alert-silence", summary="One silence")
def one_silence(request: HttpRequest, number: Number) -> dict[str, Any]:
    return silence_json(_silence(_caller(request), number))


@router.post("/silences/{number}:end", response=SilenceOut, url_name="alert-silence-end", summary="End a silence now")
def end_silence(
    request: HttpRequest,
    number: Number,
    body: WithReason = Body(WithReason()),  # noqa: B008
) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Action.SILENCE)
    row = _silence(caller, number)
    return silence_json(alerts.end_silence(caller.actor, row, engine().inspector.now_ms(), body.reason))


def _caller(request: HttpRequest) -> Caller:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    return caller


def _silence(caller: Caller, number: int) -> AlertSilence:
    row = AlertSilence.objects.filter(pk=number).first()
    if row is None or not alerts.sees_patterns(caller.user, row.topics):
        raise alerts.unknown_silence()
    return row


def _set(rule: AlertRule, body: RuleChange) -> None:
    for field, value in body.model_dump(exclude_unset=True, include=set(RULE_FIELDS)).items():
        if value is not None or field == "threshold":
            setattr(rule, field, value)


def _put(request: HttpRequest, rule: AlertRule, body: RuleChange) -> AlertRule:
    _set(rule, body)
    receivers = None if body.receivers is None else alerts.named_receivers(body.receivers)
    return alerts.put_rule(caller_of(request).actor, rule, body.reason, receivers)
