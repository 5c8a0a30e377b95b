"""Ten questions of somebody on call, each walked from the overview as docs/how-to/answers-on-call.md says it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from console.config.environment import BASE_DIR
from tests.console.browser.problemline import problem_line
from tests.console.conftest import Queue
from tests.console.stack import Stack

Open = Callable[..., Page]
SILENT_MS = 120_000
DIED = re.compile(r"\b3 (in all|dead letters)")  # a sample may fall between the first and the third
RUN = "0a0a0a0a-0000-4000-8000-000000000450"
LAST_NIGHT = """
from django.utils import timezone
from console.models import Finding, Reconciliation
now = timezone.now()
run = Reconciliation.objects.create(
    pk="{run}", username="admin", state="done", percent=100, started=now, finished=now, complete=True, findings=1,
    listed=1, stages=[["snapshot", 1, 1, 1]], summary={{"counts": {{"not_done": 1}}}}, topics=["{topic}"],
)
Finding.objects.create(run=run, kind="not_done", topic="{topic}", slot=0, ident="late", evidence={{}})
"""
LONG = "flight-events@cache." + 3 * "a-worker-with-a-long-name."
MUTE = {
    "host": "here", "pid": 7, "topics": ["elsewhere", LONG], "started_ms": 1, "threads": 2, "in_flight": 3, "done": 9,
    "failed": 0, "done_per_s": 6.2, "stuck": 0, "version": "1", "state": "running", "stale": 0,
    "session": "connected", "session_for_ms": 0, "weight": 1, "slots": {"elsewhere": "0-3", LONG: "0-3"},
    "versions": {},
}  # fmt: skip


DOCUMENT = BASE_DIR / "docs" / "how-to" / "answers-on-call.md"


def test_the_document_asks_the_ten_that_are_walked_here() -> None:
    asked = re.findall(r"^\| (\d+) \| (.+?) \|", DOCUMENT.read_text(), re.MULTILINE)
    assert [int(number) for number, _ in asked] == list(range(1, 11))
    walked = [" ".join((each.__doc__ or "").split()) for name, each in globals().items() if name.startswith("test_")]
    for _, question in asked:
        assert any(question in each for each in walked), question


def to_topic(page: Page, topic: str) -> None:
    """From the overview, by its filter."""
    page.keyboard.press("/")
    page.keyboard.type(topic)
    page.get_by_role("link", name=topic, exact=True).click()
    expect(page.locator("#rc-topic-actions").get_by_role("button").first).to_be_visible()


def tab(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Tabs").get_by_role("link", name=re.compile(f"^{name}")).click()


def test_which_topic_is_unhealthy_since_when_why_and_what_its_messages_die_of(
    open_page: Open, queue: Queue, topic: str
) -> None:
    """Which topic is unhealthy, and since when? Why is it late? What do its messages die of?"""
    for number in range(3):
        queue.dead(f"d{number}", topic=topic)
    queue.delayed("waits", topic=topic, in_ms=0)
    page = open_page("/")
    expect(problem_line(page, topic, "1 message is ready and no worker listens.")).to_contain_text("began")
    expect(page).to_have_title(re.compile(r"^\(\d+\) "))
    problem_line(page, topic, DIED).get_by_role("link", name="Open").click()
    cluster = page.get_by_role("region", name="Clusters by error").locator("tbody tr").first
    expect(cluster).to_contain_text("KeyError")
    expect(cluster).to_contain_text("3")
    page.locator("#rc-topic-actions").get_by_role("button", name="Why is it late?").click()
    expect(page.get_by_role("dialog", name="Why is it late?").locator("strong")).to_have_text(
        "No worker listens to it; 1 ready."
    )


def test_who_changed_what_before(open_page: Open, queue: Queue, topic: str) -> None:
    """Who changed what before?"""
    page = open_page("/", "editor")
    to_topic(page, topic)
    tab(page, "Definition")
    page.get_by_label("Retries").fill("4")
    page.get_by_role("button", name="Review the change").click()
    page.get_by_label("Reason").fill("patience")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Who changed what before").click()
    row = page.get_by_role("region", name="History").get_by_role("row", name="patience")
    expect(row).to_be_in_viewport()
    expect(row).to_contain_text("editor")
    expect(row).to_contain_text("Retries")
    # The marks over the charts call it the same, and lead there.
    tab(page, "Live")
    page.get_by_role("button", name="1 h", exact=True).click()
    page.get_by_role("button", name=re.compile("Definition")).last.click()
    happened = page.get_by_role("list", name="What happened").get_by_role("listitem").filter(has_text="Retries")
    expect(happened).to_contain_text("Definition · edited · Retries")
    happened.get_by_role("link", name="Open").click()
    expect(page.get_by_role("region", name="History").get_by_role("row", name="patience")).to_be_in_viewport()


def test_how_many_a_requeue_would_hit_how_long_it_takes_and_whether_it_worked(
    open_page: Open, queue: Queue, topic: str
) -> None:
    """How many would a requeue hit, and how long would it take? Did my requeue work?"""
    for number in range(3):
        queue.dead(f"d{number}", topic=topic)
    page = open_page("/")
    problem_line(page, topic, DIED).get_by_role("link", name="Open").click()
    page.get_by_role("button", name="All matching").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("3 messages match")
    expect(dialog).to_contain_text("It takes about")
    dialog.get_by_label(re.compile("^Canary")).fill("1")
    dialog.get_by_label("Reason").fill("the service is back")
    dialog.get_by_role("button", name="Start").click()
    expect(page.get_by_role("status").filter(has_text="Waiting for the canary")).to_be_visible()
    for delivery in queue.client.take(topic, timeout_ms=10_000):
        queue.client.ack(delivery)
    canary = page.get_by_role("region", name="The canary: what became of it")
    expect(canary).to_contain_text("1 went first: 1 well, 0 died")
    expect(page.locator(".rc-tile").filter(has_text="Done")).to_contain_text("3")


@pytest.fixture
def mute(queue: Queue) -> Iterator[None]:
    """A worker that was heard of two minutes ago."""
    raw, workers = queue.client.connection.client, queue.client.keyspace.workers
    raw.hset(workers, "mute", json.dumps(MUTE | {"seen_ms": queue.inspector.now_ms() - SILENT_MS}))
    yield
    raw.hdel(workers, "mute")


def worker(page: Page) -> Locator:
    return page.locator(".rc-workers tbody tr").filter(has_text="mute")


@pytest.mark.usefixtures("mute")
def test_whether_a_worker_is_dead_or_slow(open_page: Open) -> None:
    """Is a worker dead, or slow?"""
    page = open_page("/")
    problem_line(page, "Worker mute on here is silent.").get_by_role("link", name="Open").click()
    row = worker(page)
    expect(row).to_contain_text("Silent")
    expect(row).to_contain_text(re.compile(r"last heard of \d+ m"))
    # What it said last is not how it is.
    expect(row).not_to_contain_text("connected")
    expect(row).not_to_contain_text("6.2")
    expect(row.get_by_role("link", name="elsewhere").locator("..")).to_have_text("elsewhere")
    # Long names break, so that what can be done about it is in sight.
    expect(row.get_by_role("button", name="Drain")).to_be_in_viewport(ratio=1)


def test_what_became_of_one_message(open_page: Open, queue: Queue, topic: str) -> None:
    """What became of this one message?"""
    queue.delayed(f"{topic}-late", topic=topic, in_ms=0)
    page = open_page("/")
    to_topic(page, topic)
    tab(page, "Messages")
    page.get_by_role("button", name="Hold a key").click()
    dialog = page.get_by_role("dialog")
    offered = dialog.get_by_label("What is held").get_by_role("option")
    expect(offered).to_have_text(["Id", "Slot basis"])
    dialog.get_by_label("Key").fill(f"{topic}-late")
    dialog.get_by_label("Reason").fill("disputed")
    dialog.get_by_role("button", name="Hold").click()
    expect(page.get_by_role("region", name="Keys that are held")).to_contain_text("disputed")

    page = open_page("/")
    page.keyboard.press("Control+k")
    field, results = page.locator("#search-input-command"), page.locator("#command-results")
    field.press_sequentially(f"{topic}-never-sent")
    expect(results).to_contain_text("Nothing is found")
    field.fill("")
    field.press_sequentially(f"{topic}-late")
    results.get_by_role("link", name=f"{topic}-late").click()
    expect(page.locator(".rc-why strong")).to_contain_text("It is held")
    expect(page.locator(".rc-why")).to_contain_text(re.compile("Held since .*: operator: disputed"))
    expect(page.locator(".rc-timeline")).to_contain_text("operator held it · disputed")


def test_who_causes_the_load_and_what_comes_in_the_next_hours(open_page: Open, queue: Queue, topic: str) -> None:
    """Who causes the load, and what comes in the next hours?"""
    for number in range(4):
        tenant = "acme" if number else "small"
        queue.client.send(topic, f"n{number}", in_ms=1_800_000, tenant=tenant)
    page = open_page("/")
    to_topic(page, topic)
    tenants = page.get_by_role("region", name="Tenants: who causes the load")
    expect(tenants.locator("tbody tr").first).to_contain_text("acme")
    expect(tenants.locator("tbody tr").first).to_contain_text("75 %")
    forecast = page.get_by_role("region", name="Forecast: messages due")
    forecast.get_by_role("button", name="Hours").click()
    forecast.get_by_role("button", name="Show as table").click()
    expect(forecast.locator("tbody")).to_contain_text("4")


def test_whether_everything_of_last_night_arrived(open_page: Open, stack: Stack, topic: str) -> None:
    """Did everything of last night arrive?"""
    stack.manage(LAST_NIGHT.format(run=RUN, topic=topic))
    page = open_page("/")
    page.get_by_role("link", name="Reconciliation").click()
    expect(page.get_by_role("region", name="Calendar")).to_be_visible()
    # Of what nobody can say it, that is said.
    expect(page.get_by_role("region", name="Topics that are clean")).to_contain_text(
        re.compile(f"not compared, for .* off: .*{topic}")
    )
    page.get_by_role("row", name="1 finding").get_by_role("link", name="1 finding").click()
    expect(page.get_by_role("row", name="late").get_by_role("link", name="late")).to_have_attribute(
        "href", re.compile(f"/topics/{topic}/message/")
    )
    stack.manage(f"from console.models import Reconciliation; Reconciliation.objects.filter(pk='{RUN}').delete()")


@pytest.mark.usefixtures("mute")
def test_the_same_in_chinese(open_page: Open, queue: Queue, topic: str) -> None:
    queue.delayed(f"{topic}-late", topic=topic, in_ms=0)
    queue.control.hold(topic, id=f"{topic}-late", note="ann: disputed")

    def chinese(path: str) -> Page:
        return open_page(path, locale="zh-CN")

    expect(worker(chinese("/workers/"))).to_contain_text("最近一次心跳")
    expect(chinese(f"/topics/{topic}/message/?id={topic}-late").locator(".rc-why")).to_contain_text(
        "被扣留：ann: disputed"
    )
    expect(chinese(f"/topics/{topic}/definition/").get_by_role("link", name="之前谁改了什么")).to_be_visible()
    expect(chinese("/reconciliation/").get_by_text("因为其日志已关闭")).to_contain_text(topic)
    page = chinese("/")
    page.keyboard.press("Control+k")
    page.locator("#search-input-command").press_sequentially(f"{topic}-never-sent")
    expect(page.locator("#command-results")).to_contain_text("未找到任何内容")
