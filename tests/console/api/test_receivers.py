"""Receivers of alerts over REST: made, changed and deleted; their addresses and secrets go in and never come out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from console.alerts import channels
from console.models import AlertDelivery, AlertReceiver, AlertRule, AuditEntry
from tests.console.api.conftest import Caller, problem
from tests.console.api.test_alerts import firing
from tests.console.conftest import Queue

pytestmark = pytest.mark.django_db
ADDRESS, SECRET = "https://hooks.example.org/t0ken", "hush-hush"
NO_ADDRESSES = ("ftp://t0ken:hush-hush@x", "https://[t0ken]/", "https://x:t0ken/", "https://t0ken\u2100.example/")
BODY: dict[str, Any] = {"name": "ops", "address": ADDRESS, "secret": SECRET, "reason": "on call"}


@pytest.fixture
def admin(queue: Queue, caller: Callable[..., Caller]) -> Caller:
    return caller("Admin")


def test_a_receiver_from_made_to_deleted(admin: Caller) -> None:
    made = admin.post("/alerts/receivers", BODY)
    one = made.json()
    path = f"/alerts/receivers/{one['id']}"
    assert made.status_code == 201 and made["Location"].endswith(path)
    assert (one["kind"], one["least"], one["private"], one["resolved"], one["enabled"]) == (
        "webhook", "warning", False, True, True,
    )  # fmt: skip
    assert admin.ok("GET", path) == one and admin.ok("GET", "/alerts/receivers")["receivers"] == [one]
    problem(admin.post("/alerts/receivers", BODY), 409, "receiver_exists")
    assert admin.ok("PATCH", path, {"least": "critical", "enabled": False})["least"] == "critical"
    row = AlertReceiver.objects.get()
    assert (row.address, row.secret, row.enabled) == (ADDRESS, SECRET, False), "what is left out stays"
    admin.ok("PATCH", path, {"address": "https://other.example.org/", "secret": ""})
    row.refresh_from_db()
    assert (row.address, row.secret) == ("https://other.example.org/", "")
    problem(admin("DELETE", path), 422, "invalid")
    assert admin("DELETE", path + "?reason=left").status_code == 204
    problem(admin.get(path), 404, "unknown_alert")
    problem(admin("PATCH", path, {}), 404, "unknown_alert")
    entries = AuditEntry.objects.order_by("id")
    assert [each.reason for each in entries if each.result == "done"] == ["on call", "", "", "left"]
    assert entries.filter(result="done")[2].query["new_address"] is True


def test_neither_its_address_nor_its_secret_is_told(admin: Caller, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    made = admin.post("/alerts/receivers", BODY, Idempotency_Key="one")
    again = admin.post("/alerts/receivers", BODY, Idempotency_Key="one")
    assert (made.status_code, again.status_code) == (201, 201) and AlertReceiver.objects.count() == 1
    refused = [
        admin.post("/alerts/receivers", BODY),
        admin("PATCH", f"/alerts/receivers/{made.json()['id']}", {"kind": "apprise"}),
        *(admin("PATCH", f"/alerts/receivers/{made.json()['id']}", {"address": each}) for each in NO_ADDRESSES),
    ]
    assert all(problem(each, 422, "invalid") for each in refused[2:])
    texts = [each.content.decode() for each in (made, again, *refused)]
    texts += [json.dumps([*AuditEntry.objects.values("query", "detail", "reason")]), caplog.text]
    assert not [text for text in texts if "t0ken" in text or SECRET in text]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"address": "nonsense"}, "address"), ({"address": ""}, "address"), ({"address": "https://x\x00"}, "address"),
        ({"secret": "\x00"}, "secret"), ({"secret": "x" * 201}, "secret"), ({"kind": "mail"}, "kind"),
        ({"least": "low"}, "least"), ({"name": ""}, "name"), ({"name": "a\nb"}, "name"), ({"enabled": 1}, "enabled"),
        ({"changed": "x"}, "changed"),
    ],
)  # fmt: skip
def test_what_is_no_receiver(admin: Caller, given: dict[str, Any], field: str) -> None:
    assert problem(admin.post("/alerts/receivers", BODY | given), 422, "invalid")["fields"][0]["field"] == field
    assert not AlertReceiver.objects.exists()


def test_a_rule_names_who_is_told(admin: Caller) -> None:
    AlertRule.objects.all().delete()
    for name in ("ops", "chief", "night"):
        AlertReceiver.objects.create(name=name, address=ADDRESS)
    rule = {"name": "late", "problem": "lagging", "receivers": ["ops", "chief"]}
    assert admin.ok("POST", "/alerts/rules", rule, status=201)["receivers"] == ["chief", "ops"]
    assert AuditEntry.objects.get().query["receivers"] == ["chief", "ops"]
    assert admin.ok("PATCH", "/alerts/rules/late", {"severity": "info"})["receivers"] == ["chief", "ops"]
    refused = problem(admin("PATCH", "/alerts/rules/late", {"receivers": ["ops", "nobody"]}), 422, "invalid")
    assert refused["fields"][0]["field"] == "receivers"
    for odd in ("", "x" * 61, "\u202eops"):
        refused = problem(admin("PATCH", "/alerts/rules/late", {"receivers": ["ops", odd]}), 422, "invalid")
        assert refused["fields"][0]["field"] == "receivers.1"
    assert admin.ok("PATCH", "/alerts/rules/late", {"receivers": ["night"]})["receivers"] == ["night"]
    firing()
    (alert,) = admin.ok("GET", "/alerts")["alerts"]
    assert alert["rule"] is None
    assert admin.ok("PATCH", "/alerts/rules/late", {"receivers": []})["receivers"] == [], "all of them"
    assert [each["receivers"] for each in admin.ok("GET", "/alerts/rules")["rules"]] == [[]]


def test_what_it_was_not_sent_yet_goes_with_it(admin: Caller) -> None:
    row = AlertReceiver.objects.create(name="ops", address=ADDRESS)
    for number in range(3):
        AlertDelivery.objects.create(alert=firing(f"a{number}"), receiver=row, what="firing", next_ms=0, error="away")
    found = admin.ok("GET", f"/alerts/receivers/{row.pk}")
    assert (found["unsent"], found["error"]) == (3, "away")
    assert admin("DELETE", f"/alerts/receivers/{row.pk}?reason=left").status_code == 204
    assert not AlertDelivery.objects.exists()


def test_of_a_kind_that_is_not_installed_any_more(admin: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    row = AlertReceiver.objects.create(name="ops", kind="apprise", address="slack://t0ken")
    path = f"/alerts/receivers/{row.pk}"
    monkeypatch.setattr(channels, "_apprise", lambda: None)
    assert admin.ok("PATCH", path, {"enabled": False})["enabled"] is False, "the one thing left to do with it"
    refused = problem(admin("PATCH", path, {"enabled": True}), 422, "invalid")
    assert "not installed" in refused["message"]
    problem(admin("PATCH", path, {"address": "slack://other"}), 422, "invalid")
    admin.ok("PATCH", path, {"kind": "webhook", "address": ADDRESS, "enabled": True})
