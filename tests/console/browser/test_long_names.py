"""Names, reasons and errors as long as they may be, without a blank in them: what is done with a row stays in sight."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from rmq_core import Topic, TopicKind
from tests.console.browser.contexts import Contexts
from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]
NAME = "n" + "a" * 98 + "e"
SHORT = NAME[:60]
"""What people name themselves."""
MODELS = """
import uuid
from django.utils import timezone
from console.models import AlertReceiver, AlertRule, AlertSilence, RecurringMessage
from console.models.pipeline import TopicVerdict
"""
MAKE = f"""{MODELS}
AlertRule.objects.create(name={SHORT!r}, problem="dead", topics={NAME!r}, for_ms=0, fire_after=1)
AlertSilence.objects.create(rule={SHORT!r}, topics={NAME!r}, from_ms=0, until_ms=4_102_444_800_000, reason="z" * 300)
AlertReceiver.objects.create(name={SHORT!r}, address="http://127.0.0.1:9/", enabled=True)
RecurringMessage.objects.create(name={NAME!r}, topic={NAME!r}, content="x", when="in_ms", value=0,
                                every_ms=86_400_000, description="d" * 500)
TopicVerdict.objects.create(topic={NAME!r}, at=timezone.now(), clean_since=timezone.now(), run=uuid.uuid4())
"""
FORGET = f"""{MODELS}
AlertRule.objects.filter(name={SHORT!r}).delete()
AlertSilence.objects.filter(rule={SHORT!r}).delete()
AlertReceiver.objects.filter(name={SHORT!r}).delete()
RecurringMessage.objects.filter(name={NAME!r}).delete()
TopicVerdict.objects.filter(topic={NAME!r}).delete()
"""


@pytest.fixture(scope="module", autouse=True)
def named(stack: Stack, contexts: Contexts) -> Iterator[None]:
    with stack.client() as client:
        queue = Queue(client)
        client.define(Topic(NAME, TopicKind.FIXED_TIME, slots=1, backoff_ms=0, max_retries=0))
        queue.dead("a", topic=NAME, error="E" * 300)
        stack.manage(MAKE)
        yield
        contexts.close()
        stack.manage(FORGET)
        queue.control.delete_topic(NAME, force=True)


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize(
    ("path", "words", "action"),
    [
        ("/dead/", "EEEE", "Requeue"),
        ("/alerts/", "silenced by", "Silence"),
        ("/recurring/", "dddd", "Run now"),
        ("/reconciliation/", NAME, ""),
        ("/admin/console/topicdefinition/", NAME, ""),
    ],
)
def test_a_row_stays_in_sight(open_page: Open, path: str, words: str, action: str, width: int) -> None:
    page = open_page(path, "admin", viewport={"width": width, "height": 900})
    row = page.locator("tbody tr").filter(has_text=NAME).filter(has_text=words).first
    expect(row).to_contain_text(NAME)
    name = row.get_by_text(NAME).first.bounding_box()
    assert name is not None and name["x"] >= 0 and name["x"] + name["width"] <= width
    if action:
        button = row.get_by_role("button", name=action).bounding_box()
        assert button is not None and button["x"] >= 0 and button["x"] + button["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


IN_A_NARROW_PLACE = """async () => {
  const pages = [...document.scripts].map((each) => each.src).filter((each) => each.includes("/js/pages/"));
  const { h, topicName } = await import(new URL("../core/dom.js", pages[0]));
  const place = h("div", { style: "width: 7rem; overflow-wrap: anywhere" }, topicName("flight-events@notifications"));
  document.body.append(place);
  const text = place.lastChild;
  const range = document.createRange();
  range.selectNodeContents(text);
  return [place.textContent, text.textContent, range.getClientRects().length];
}"""


def test_a_group_breaks_behind_its_topic(open_page: Open) -> None:
    page = open_page("/dead/", "admin")
    assert page.evaluate(IN_A_NARROW_PLACE) == ["flight-events@notifications", "notifications", 1]
