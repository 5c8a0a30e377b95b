"""Every page, read by somebody with another time zone and other separators: nothing is left of the usual ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from rmq_core import FixedTimeMessage
from tests.console.browser.conftest import forgive
from tests.console.browser.test_accessible import PAGES
from tests.console.conftest import Queue
from tests.console.stack import Stack

MANY = 1_234
LATE_MS = 95_500
ZONE = "Asia/Kathmandu"
"""Its clocks differ from all others' by three quarters of an hour."""
NEAR_S = 3_600
# A reader of words sees what is shown, not what is typed into or is somebody's own text.
READ = """() => {
  const shown = document.body.cloneNode(true);
  for (const each of shown.querySelectorAll('script, style, template, pre, code, textarea, input, select, .rc-mono'))
    each.remove();
  return [...shown.querySelectorAll('*')].map((each) =>
    [...each.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join(' ')
    + ' ' + (each.getAttribute('title') ?? '') + ' ' + (each.getAttribute('aria-label') ?? '')).join('\\n');
}"""
USUAL = {
    "thousands": re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])"),
    "fraction": re.compile(r"(?<![\d.])\d+\.\d+ ?(?:ms|s|min|m|h|d|%|B|KiB|MiB|GiB|/s)\b"),
    "plain digits": re.compile(rf"(?<![\w.-]){MANY}(?![\w.-])"),
    "time": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?! GMT\+5:45)"),
}
CLOCK = re.compile(r"(?<![\d:-] )(?<![\d:T-])\b(\d\d):(\d\d):(\d\d)\b(?! GMT)")
CHOSEN = re.compile(r"1\.234|\d,\d (?:s|ms|min|/s)|GMT\+5:45")
MORE = {
    "/screens/of/written/": "#sc-age:has-text('Last updated')",
    "/admin/console/auditentry/": "#result_list",
    "/admin/console/topicdefinition/": ".rc-table",
    "/admin/console/alertrule/": "#changelist",
    "/admin/console/recurringmessage/": "#changelist",
    "/admin/console/screen/": "#changelist",
    "/admin/console/topicdefinition/{topic}/delete/": ".rc-plan",
}


PREPARE = f"""
from django.contrib.auth.models import User
from console.kept import owner_of
from console.models import AlertRule, AuditEntry, Preferences, Screen
owner = owner_of(User.objects.get(username="admin"))
Preferences.objects.create(owner=owner, time_zone="{ZONE}", numbers="1.234,5")
AuditEntry.objects.create(username="written", action="requeue", asked={MANY}, done={MANY})
AlertRule.objects.create(name="written", metric="lag_ms", comparison=">", threshold=99_500.5, for_ms=61_000)
Screen.objects.create(name="written", panels="figures\\ntopics")
"""
REMOVE = """
from console.models import AlertRule, AuditEntry, Preferences, Screen
Preferences.objects.all().delete()
AuditEntry.objects.filter(username="written").delete()
AlertRule.objects.filter(name="written").delete()
Screen.objects.filter(name="written").delete()
"""


@pytest.fixture
def chosen(stack: Stack) -> Iterator[None]:
    stack.manage(PREPARE)
    yield
    stack.manage(REMOVE)


def left_over(text: str) -> list[str]:
    """What is in the usual form."""
    found = [f"{what}: {each[0]}" for what, pattern in USUAL.items() for each in pattern.finditer(text)]
    now = datetime.now(ZoneInfo(ZONE))
    for each in CLOCK.finditer(text):
        hour, minute, second = map(int, each.groups())
        away = abs(now.hour * 3600 + now.minute * 60 + now.second - hour * 3600 - minute * 60 - second)
        if min(away, 86_400 - away) > NEAR_S:
            found.append(f"clock: {each[0]}")
    return found


def test_nothing_is_written_as_for_others(
    open_page: Callable[..., Page], queue: Queue, stack: Stack, topic: str, chosen: None
) -> None:
    now = queue.inspector.now_ms()
    queue.dead("d", topic=topic)
    messages = [FixedTimeMessage("m", now - LATE_MS, key=f"m{n}") for n in range(MANY)]
    queue.client.send_many(topic, messages, allow_past=True)
    queue.client.send(topic, FixedTimeMessage("later", now + 86_400_000, key="a"))
    queue.client.send(topic, FixedTimeMessage("dead", now + 86_400_000, key="b"))
    page = open_page("/preferences/", "admin", timezone_id="America/New_York")
    wrong, seen = {}, ""

    def look(name: str) -> None:
        nonlocal seen
        text = page.evaluate(READ)
        seen += text
        if found := left_over(text):
            wrong[name] = sorted(set(found))

    for path, ready in (PAGES | MORE).items():
        page.goto(stack.address + path.format(topic=topic))
        expect(page.locator(ready).first).to_be_visible()
        look(path)
    page.goto(f"{stack.address}/topics/{topic}/")
    page.get_by_role("button", name="Why is it late?").first.click()
    expect(page.locator(".rc-why-answer")).to_contain_text("1.234")
    look("why")
    forgive(page, 404)
    assert wrong == {}
    assert {"1.234", "GMT+5:45"} <= set(CHOSEN.findall(seen)), "there is nothing here by which one could tell"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1,234 ready", "thousands"),
        ("late by 95.5 s", "fraction"),
        ("of 1234 topics", "plain digits"),
        ("2035-01-02 03:04:05 EST", "time"),
    ],
)
def test_this_test_sees_the_usual_form(text: str, what: str) -> None:
    assert [each.split(":")[0] for each in left_over(text)] == [what]


def test_it_sees_clocks_of_another_zone() -> None:
    local, other = (datetime.now(ZoneInfo(zone)) for zone in (ZONE, "America/New_York"))
    assert left_over(f"as of {local:%H:%M:%S}") == []
    assert left_over(f"as of {other:%H:%M:%S}") == [f"clock: {other:%H:%M:%S}"]
