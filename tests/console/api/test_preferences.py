"""Time zone and numbers, one's own: over REST, on pages, and in the forms of the admin."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console.models import ApiToken, Preferences
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

pytestmark = pytest.mark.django_db
NONE = {"time_zone": "", "numbers": ""}
TOKYO = {"time_zone": "Asia/Tokyo", "numbers": "1.234,5"}
NOON = datetime(2035, 1, 2, 12, 30, tzinfo=UTC)


def put(client: Client, **values: Any) -> Any:
    return client.put("/api/v1/me/preferences", json.dumps(values), content_type="application/json")


def test_each_has_their_own(queue: Queue, as_role: Callable[..., Client], caller: Callable[..., Caller]) -> None:
    anna, robot = as_role("Viewer"), caller("Viewer")
    assert anna.get("/api/v1/me/preferences").json() == NONE
    assert put(anna, **TOKYO).json() == TOKYO
    assert anna.get("/api/v1/me/preferences").json() == TOKYO
    assert as_role("Operator").get("/api/v1/me/preferences").json() == NONE
    assert robot.ok("GET", "/me/preferences") == NONE
    assert put(anna, numbers="1 234,5").json() == {"time_zone": "", "numbers": "1 234,5"}, "all of it is replaced"
    assert Preferences.objects.count() == 1


@pytest.mark.parametrize(
    "name",
    [
        "Asia/Tokio",
        "Europe",
        "../etc/passwd",
        "/etc/passwd",
        "UTC+9 or so",
        ".",
        "localtime",
        "Factory",
        "posixrules",
        "right/UTC",
        "posix/UTC",
    ],
)
def test_a_zone_that_is_none_is_refused(queue: Queue, caller: Callable[..., Caller], name: str) -> None:
    who = caller("Viewer")
    found = problem(who("PUT", "/me/preferences", {"time_zone": name}), 422, "bad_request")
    assert f"There is no time zone “{name}”" in found["message"] and "Europe/Berlin" in found["message"]
    assert who.ok("GET", "/me/preferences") == NONE


@pytest.mark.parametrize(
    "body", [{"time_zone": "a\nb"}, {"time_zone": "x" * 101}, {"numbers": "1'234.5"}, {"zone": "UTC"}, {"time_zone": 1}]
)
def test_what_is_wrong_is_said(queue: Queue, caller: Callable[..., Caller], body: dict[str, Any]) -> None:
    found = problem(caller("Viewer")("PUT", "/me/preferences", body), 422, "invalid")
    assert found["fields"]


def test_pages_are_told(queue: Queue, as_role: Callable[..., Client]) -> None:
    anna = as_role("Viewer")
    put(anna, **TOKYO)
    text = anna.get("/preferences/").content.decode()
    found = re.search(r'<script id="page-data" type="application/json">(.*?)</script>', text)
    assert found and json.loads(found[1])["preferences"] == TOKYO
    assert f'href="{reverse("console:preferences")}"' in text, "in the menu of the account"
    assert timezone.get_current_timezone_name() == "UTC", "and nobody else's request is in that zone"


def test_the_admin_writes_and_reads_times_in_that_zone(queue: Queue, as_role: Callable[..., Client]) -> None:
    admin = as_role("Admin")
    token = ApiToken.objects.create(
        name="robot", prefix="abcdefgh", digest="0" * 64, role="Viewer", topics="*", expires_at=NOON
    )
    address = reverse("console_admin:console_apitoken_change", args=[token.pk])
    pages = (address, reverse("console_admin:console_apitoken_changelist"))
    for page in pages:
        assert "12:30 p.m." in admin.get(page).content.decode()
    put(admin, **TOKYO)
    for page in pages:
        assert "9:30 p.m." in admin.get(page).content.decode()
    local = datetime.now(ZoneInfo("Asia/Tokyo")).replace(second=0, microsecond=0) + timedelta(days=10)
    values = {"name": "second", "role": "Viewer", "topics": "*", "rate_per_minute": "60"}
    values |= {"expires_at_0": f"{local:%Y-%m-%d}", "expires_at_1": f"{local:%H:%M:%S}"}
    answer = admin.post(reverse("console_admin:console_apitoken_add"), values)
    assert answer.status_code == 302, answer.content.decode()
    assert ApiToken.objects.get(name="second").expires_at == local
    preview = admin.get(reverse("console_admin:console_alertrule_add")).content.decode()
    assert 'data-time-zone="Asia/Tokyo"' in preview


def test_a_zone_that_this_machine_lost_stops_no_page(queue: Queue, as_role: Callable[..., Client]) -> None:
    anna = as_role("Viewer")
    put(anna, **TOKYO)
    Preferences.objects.update(time_zone="Mars/Olympus")
    assert anna.get("/").status_code == 200
