"""Alerts over REST: what fires, rules with their preview, silences; what is secret stays so."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from console.alerts import looking
from console.alerts.conditions import Seen
from console.history import problems
from console.models import Alert, AlertDelivery, AlertReceiver, AlertRule, AlertSilence, AuditEntry, HistoryProblem
from console.usecases import alerts
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

BODY = {"name": "late", "metric": "lag_ms", "threshold": 5_000, "topics": "orders", "for_ms": 60_000}
HOUR = 3_600_000
LATE = "/alerts/rules/late"
SECRETS = ("t0ken", "hush-hush")


@pytest.fixture
def editor(queue: Queue, caller: Callable[..., Caller]) -> Caller:
    AlertRule.objects.all().delete()
    return caller("Editor")


@pytest.fixture
def receiver(db: None) -> AlertReceiver:
    made: AlertReceiver = AlertReceiver.objects.create(
        name="ops", address="http://127.0.0.1:9/t0ken", secret="hush-hush"
    )
    return made


def firing(name: str = "late", topic: str = "orders", **about: Any) -> Alert:
    row: Alert = Alert.objects.create(
        name=name,
        topic=topic,
        severity="critical",
        began_ms=1,
        seen_ms=1,
        **{"state": "firing", "fired_ms": 2, **about},
    )
    return row


def test_a_rule_from_made_to_deleted(editor: Caller) -> None:
    made = editor.post("/alerts/rules", BODY | {"reason": "wanted"})
    assert made.status_code == 201
    problem(editor.post("/alerts/rules", BODY), 409, "rule_exists")
    changed = editor.ok("PATCH", "/alerts/rules/late", {"severity": "critical", "enabled": False})
    assert (changed["severity"], changed["enabled"], changed["threshold"]) == ("critical", False, 5_000)
    (listed,) = editor.ok("GET", "/alerts/rules")["rules"]
    assert listed == changed
    problem(editor("DELETE", "/alerts/rules/late"), 422, "invalid")
    assert editor("DELETE", "/alerts/rules/late?reason=done").status_code == 204
    problem(editor("PATCH", "/alerts/rules/late", {}), 404, "unknown_alert")
    results = [*AuditEntry.objects.order_by("id").values_list("action", "result")]
    assert results == [("alert_rule", each) for each in ("done", "refused", "done", "done")]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"problem": "dead"}, "problem"), ({"metric": ""}, "problem"), ({"threshold": None}, "threshold"),
        ({"metric": "mood"}, "metric"), ({"topics": "a/b"}, "topics"),
    ],
)  # fmt: skip
def test_what_is_no_rule(editor: Caller, changes: dict[str, Any], field: str) -> None:
    refused = problem(editor.post("/alerts/rules", BODY | changes), 422, "invalid")
    assert refused["fields"][0]["field"] == field
    assert not AlertRule.objects.exists()


def test_preview_by_the_problems_that_were(editor: Caller, queue: Queue) -> None:
    queue.topic()
    now_ms = queue.inspector.now_ms()
    for topic, minutes, ago in (("orders", 30, 3), ("orders", 1, 5), ("other", 30, 7), ("orders", 30, 24 * 8)):
        begun = now_ms - ago * HOUR
        HistoryProblem.objects.create(
            topic=topic, key="k", code="lagging", severity="warning", begun_ms=begun, seen_ms=begun + minutes * 60_000,
            open=False, said=problems.pack([]),
        )  # fmt: skip
    asked = {"problem": "lagging", "topics": "ord*", "for_ms": 300_000}
    found = editor.ok("POST", "/alerts/rules:preview", asked)
    assert found["count"] == 1
    assert found["firings"][0]["topic"] == "orders"
    assert found["firings"][0]["from_ms"] == now_ms - 3 * HOUR + 300_000
    assert editor.ok("POST", "/alerts/rules:preview", asked | {"for_ms": 0})["count"] == 2
    assert not AlertRule.objects.exists() and not AuditEntry.objects.exists()


def test_list_with_silence_and_deliveries(editor: Caller, receiver: AlertReceiver) -> None:
    for state in ("pending", "firing", "resolved"):
        row = firing(state=state, topic=state)
    AlertDelivery.objects.create(alert=row, receiver=receiver, what="firing", state="sent", next_ms=0, sent_ms=7)
    assert [each["topic"] for each in editor.ok("GET", "/alerts")["alerts"]] == ["resolved", "firing", "pending"]
    assert [each["topic"] for each in editor.ok("GET", "/alerts?state=open")["alerts"]] == ["firing", "pending"]
    first = editor.ok("GET", "/alerts?limit=2")
    rest = editor.ok("GET", f"/alerts?limit=2&cursor={first['next']}")
    assert [each["topic"] for each in rest["alerts"]] == ["pending"]
    assert first["alerts"][0]["deliveries"][0]["receiver"] == "ops"
    wanted = {"rule": "late", "topics": "firing", "for_ms": HOUR, "reason": "known"}
    problem(editor.post("/alerts/silences", wanted), 422, "invalid")  # nobody would be told less by it
    editor.post("/alerts/rules", BODY)
    made = editor.post("/alerts/silences", wanted)
    assert made.status_code == 201
    (alert,) = editor.ok("GET", "/alerts?state=firing")["alerts"]
    assert alert["silence"]["reason"] == "known" and alert["silence"]["username"]
    ended = editor.ok("POST", f"/alerts/silences/{alert['silence']['id']}:end", {})
    assert ended["until_ms"] <= editor.ok("GET", "/alerts/silences")["as_of_ms"]
    assert editor.ok("GET", "/alerts?state=firing")["alerts"][0]["silence"] is None
    problem(editor.post("/alerts/silences", {"for_ms": HOUR, "reason": " "}), 422, "bad_request")
    problem(editor.post("/alerts/silences/999:end", {}), 404, "unknown_alert")


@pytest.mark.django_db
def test_a_silence_that_went_with_its_rule_just_now_is_not_there(
    editor: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor.post("/alerts/rules", BODY)
    made = editor.ok("POST", "/alerts/silences", {"rule": "late", "for_ms": HOUR, "reason": "known"}, status=201)
    ending = alerts.end_silence

    def later(*args: Any) -> Any:
        assert editor("DELETE", "/alerts/rules/late?reason=over").status_code == 204
        return ending(*args)

    monkeypatch.setattr(alerts, "end_silence", later)
    problem(editor.post(f"/alerts/silences/{made['id']}:end", {}), 404, "unknown_alert")


def test_the_list_says_when_the_rules_looked(editor: Caller, queue: Queue) -> None:
    assert editor.ok("GET", "/alerts")["looked_ms"] is None
    seen_ms = queue.inspector.now_ms()
    assert looking.look(Seen(seen_ms, {}, frozenset()))
    found = editor.ok("GET", "/alerts")
    assert found["looked_ms"] == seen_ms <= found["as_of_ms"]


def test_no_secret_comes_out(
    editor: Caller, receiver: AlertReceiver, caller: Callable[..., Caller], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    admin = caller("Admin")
    texts = [json.dumps(admin.ok("GET", path)) for path in ("/alerts", "/alerts/rules", "/alerts/receivers")]
    refused = admin.post(f"/alerts/receivers/{receiver.pk}:test", {})
    assert problem(refused, 422, "bad_request")["message"].startswith("It was not sent: the address is in a private")
    texts += [refused.content.decode(), caplog.text, json.dumps([*AuditEntry.objects.values("query", "detail")])]
    assert not [text for text in texts for secret in SECRETS if secret in text]


def test_a_token_of_some_topics(editor: Caller, caller: Callable[..., Caller]) -> None:
    scoped = caller("Editor", "mail")
    firing()
    firing("all", "", topics=["orders", "mail"])
    firing("own", "mail")
    AlertSilence.objects.create(topics="*", from_ms=0, until_ms=2**50, reason="x", username="y")
    assert [each["name"] for each in scoped.ok("GET", "/alerts")["alerts"]] == ["own"]
    editor.post("/alerts/rules", BODY)
    assert scoped.ok("GET", "/alerts/rules")["rules"] == scoped.ok("GET", "/alerts/silences")["silences"] == []
    for refused in (scoped("PATCH", "/alerts/rules/late", {"topics": "mail"}), scoped("DELETE", f"{LATE}?reason=x")):
        problem(refused, 404, "unknown_alert")  # as to GET: a refusal would name its topics
    problem(scoped.post("/alerts/silences", {"for_ms": HOUR, "reason": "x"}), 403, "out_of_scope")
    problem(scoped.post("/alerts/silences", {"topics": "mai?", "for_ms": HOUR, "reason": "x"}), 403, "out_of_scope")
    own = {"topics": "mail", "for_ms": HOUR, "reason": "x"}
    for rule in ("", "late", "of others or none"):  # which it is would say what rules others have
        assert scoped.post("/alerts/silences", own | {"rule": rule}).status_code == 201


def test_a_rule_or_a_silence_for_others_too_names_none_of_theirs(editor: Caller, caller: Callable[..., Caller]) -> None:
    for patterns, told in (("orders, mail", "mail"), ("*", "*"), ("ord*", "mail"), ("mail", "mail")):
        rule, _ = AlertRule.objects.update_or_create(name="late", defaults={"problem": "dead", "topics": patterns})
        Alert.objects.all().delete()
        firing("own", "mail", rule=rule)
        silenced = {"topics": patterns.replace("ord*", "*a*"), "rule": "", "from_ms": 0, "until_ms": 2**50}
        AlertSilence.objects.all().delete()
        AlertSilence.objects.create(**silenced, reason="x", username="y")
        (alert,) = caller("Viewer", "mail").ok("GET", "/alerts")["alerts"]
        assert (alert["rule"]["topics"], alert["silence"]["topics"]) == (told, told)
        (alert,) = editor.ok("GET", "/alerts")["alerts"]
        assert alert["rule"]["topics"] == patterns


def test_silences_of_others_push_out_none_of_ones_own(editor: Caller, caller: Callable[..., Caller]) -> None:
    about = {"from_ms": 0, "reason": "x", "username": "y"}
    AlertSilence.objects.create(topics="mail", until_ms=1, **about)
    AlertSilence.objects.bulk_create(AlertSilence(topics="orders", until_ms=2, **about) for _ in range(200))
    assert [each["topics"] for each in caller("Viewer", "mail").ok("GET", "/alerts/silences")["silences"]] == ["mail"]
    assert len(editor.ok("GET", "/alerts/silences")["silences"]) == 200


def test_a_rule_that_is_made_anew_is_not_silenced(editor: Caller) -> None:
    rule = {"name": "late", "problem": "lagging"}
    for name in ("late", "other"):
        editor.ok("POST", "/alerts/rules", rule | {"name": name}, status=201)
    for named in ("late", "other", ""):
        editor.ok("POST", "/alerts/silences", {"rule": named, "for_ms": HOUR, "reason": "known"}, status=201)
    assert editor("DELETE", "/alerts/rules/late?reason=over").status_code == 204
    editor.ok("POST", "/alerts/rules", rule, status=201)
    kept = editor.ok("GET", "/alerts/silences")["silences"]
    assert sorted(each["rule"] for each in kept) == ["", "other"]
