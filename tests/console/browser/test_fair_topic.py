"""A fair topic with tenants of very different size, watched while a worker takes from it: who is served, what caps
whom, and what is done about one of them. The page that watches is never loaded again."""

from __future__ import annotations

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from rmq_core import Delivery, Listener, PriorityMessage, Topic, TopicKind, Worker
from rmq_core.model.filters import MessageFilter
from tests.console.browser.contexts import Contexts
from tests.console.browser.test_accessible import violations
from tests.console.browser.test_definitions import save
from tests.console.browser.test_layout import NARROW, STICKS_OUT
from tests.console.conftest import Queue
from tests.console.stack import Stack
from tests.support.waiting import wait_until

Open = Callable[..., Page]
TOPIC = "fair-watched"
LARGE, SMALL, TRIPLE, NOBODY = "megacorp", '<b>corner</b> shop "&', "triple", ""
SENT = {LARGE: 20_000, SMALL: 120, TRIPLE: 900, NOBODY: 400}
BEGAN = "window.began = true"


class Serving:
    """A worker in a thread of its own that makes as many calls as it is let, and counts whose they were."""

    def __init__(self, url: str) -> None:
        self.served: Counter[str] = Counter()
        self._calls = threading.Semaphore(0)
        self._worker = Worker(url, [Listener(TOPIC, self._serve)], name="fair-worker", threads=2)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._worker.serve(),))
        self._thread.start()

    def _serve(self, delivery: Delivery) -> None:
        self._calls.acquire()
        self.served[delivery.tenant] += 1

    def let(self, calls: int) -> None:
        before = self.served.total()
        self._calls.release(calls)
        wait_until(lambda: self.served.total() >= before + calls, timeout_s=120, what=f"{calls} calls to be made")

    def stop(self) -> None:
        self._calls.release(1_000_000)
        self._loop.call_soon_threadsafe(self._worker.stop)
        self._thread.join(60)
        self._loop.close()
        assert not self._thread.is_alive()


class Turns:
    """What a page says of whose turn it is."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.table = page.get_by_role("group", name="Tenants: whose turn it is")

    def row(self, tenant: str) -> Locator:
        return self.table.locator("tbody tr").filter(has=self.page.get_by_role("cell", name=tenant, exact=True))

    def limit(self, tenant: str) -> Locator:
        return self.row(tenant).locator("td").nth(5)

    def read(self) -> dict[str, tuple[int, str]]:
        """What waits of each, and its share; all at one moment."""
        read = "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
        rows: Any = self.table.locator("tbody tr").evaluate_all(read)
        named = {row[0]: (int(row[1].replace(",", "")), row[4]) for row in rows if len(row) > 2}
        return {NOBODY if name == "(no tenant)" else name: each for name, each in named.items()}

    def waiting(self) -> dict[str, int]:
        return {tenant: waiting for tenant, (waiting, _) in self.read().items()}

    def shows(self, queue: Queue) -> dict[str, int]:
        """What waits of each, once the page says what is so."""
        found: dict[str, int] = {}

        def told() -> bool:
            found.clear()
            found.update({each.tenant: each.waiting for each in queue.inspector.tenants(TOPIC, 100).turns})
            return self.waiting() == found

        wait_until(told, timeout_s=120, what="the page to say what waits")
        return found


@pytest.fixture
def full(queue: Queue) -> Iterator[None]:
    """The topic; the large tenant was there first."""
    weights = f"{TRIPLE}=3"
    about = Topic(TOPIC, TopicKind.PRIORITY, slots=1, fair=True, tenant_weights=weights, visibility_timeout_ms=600_000)
    queue.client.define(about)
    for tenant, number in SENT.items():
        queue.client.send_many(TOPIC, [PriorityMessage(f"{tenant[:3]}{n}", 100, tenant=tenant) for n in range(number)])
    yield
    queue.control.delete_topic(TOPIC, force=True)


@pytest.fixture
def worker(stack: Stack, full: None) -> Iterator[Serving]:
    serving = Serving(stack.redis_url)
    yield serving
    serving.stop()


def watch(open_page: Open) -> tuple[Page, Turns]:
    page = open_page(f"/topics/{TOPIC}/")
    page.evaluate(BEGAN)
    turns = Turns(page)
    expect(turns.table.locator("tbody tr")).to_have_count(4)
    return page, turns


def test_small_tenants_are_served_while_a_large_one_waits(open_page: Open, queue: Queue, worker: Serving) -> None:
    page, turns = watch(open_page)
    begun = turns.read()
    assert {tenant: share for tenant, (_, share) in begun.items()} == {
        LARGE: "16.67 %", SMALL: "16.67 %", TRIPLE: "50 %", NOBODY: "16.67 %",
    }  # fmt: skip
    load = page.get_by_role("group", name="Tenants: who causes the load").locator("tbody tr")
    expect(load.first).to_have_text(re.compile(rf"^{LARGE}.*9\d\.\d+ %"))
    button = turns.row(SMALL).get_by_role("button", name="All matching…")
    button.click()
    page.keyboard.press("Escape")
    expect(button).to_be_focused()  # whoever has looked at one tenant goes on watching all

    worker.let(360)
    half = turns.shows(queue)
    taken = {tenant: SENT[tenant] - waiting for tenant, waiting in half.items()}
    turn = sum(taken.values()) / 6
    for tenant, weight in {LARGE: 1, SMALL: 1, TRIPLE: 3, NOBODY: 1}.items():
        assert taken[tenant] == pytest.approx(weight * turn, rel=0.2), taken
    expect(button).to_be_focused()
    for each in (SMALL, TRIPLE):
        expect(load.filter(has_text=each).locator("td").nth(4)).not_to_have_text("0 %")

    while worker.served[SMALL] < SENT[SMALL]:
        worker.let(12)
    left = turns.shows(queue)
    assert left.keys() == {LARGE, TRIPLE, NOBODY}
    assert left[LARGE] > 0.97 * SENT[LARGE], left
    assert SENT[TRIPLE] - left[TRIPLE] == pytest.approx(3 * (SENT[NOBODY] - left[NOBODY]), rel=0.2), left
    assert {tenant: share for tenant, (_, share) in turns.read().items()} == {
        LARGE: "20 %", TRIPLE: "60 %", NOBODY: "20 %",
    }  # fmt: skip
    assert page.evaluate("window.began")


def test_one_tenant_is_limited_held_let_go_and_cancelled(open_page: Open, queue: Queue, worker: Serving) -> None:
    page, turns = watch(open_page)
    form = open_page(f"/topics/{TOPIC}/", "editor")
    form.get_by_role("link", name="Hold or limit a tenant…").click()
    limits = form.get_by_label("Limits of tenants")
    expect(limits).to_be_focused()

    def limit(text: str, reason: str) -> None:
        limits.fill(text)
        save(form, reason)

    limit(f"{LARGE}=1/h 9 at once", "they send too much")
    expect(turns.limit(LARGE)).to_contain_text("1/h 9 at once")
    worker.let(60)
    expect(turns.limit(LARGE)).to_have_text("1/h 9 at once, used up now")
    assert turns.read()[LARGE][1] == "0 %"

    limit(f"{LARGE}=1/h 9 at once, {TRIPLE}=held", "disputed")
    expect(turns.limit(TRIPLE)).to_have_text("held: nothing is handed out")
    held = turns.shows(queue)
    worker.let(60)
    now = turns.shows(queue)
    assert now[TRIPLE] == held[TRIPLE] and now[LARGE] == held[LARGE]
    assert sum(now[each] for each in (SMALL, NOBODY)) < sum(held[each] for each in (SMALL, NOBODY))

    limit(f"{LARGE}=1/h 9 at once", "settled")
    expect(turns.limit(TRIPLE)).to_have_text("")
    worker.let(60)
    before = turns.shows(queue)
    assert before[TRIPLE] < held[TRIPLE]

    cancel_all(open_page(f"/topics/{TOPIC}/"), LARGE)
    expect(turns.row(LARGE)).to_have_count(0)
    assert turns.shows(queue) == {tenant: waiting for tenant, waiting in before.items() if tenant != LARGE}
    trash = queue.inspector.preview(TOPIC, MessageFilter("trash", tenant=LARGE))
    assert trash.count == before[LARGE]
    assert page.evaluate("window.began")


def test_every_tenant_has_its_row_whatever_its_name(open_page: Open, queue: Queue, contexts: Contexts) -> None:
    name, long, spaced = "fair-named", "W" * 64, "  spaced "
    limits = f"{long}=100/h 3 at once, tenant-49=held"
    queue.client.define(Topic(name, TopicKind.PRIORITY, slots=4, fair=True, tenant_limits=limits))
    page = open_page(f"/topics/{name}/", "viewer", viewport=NARROW)
    turns = Turns(page)
    expect(turns.table).to_contain_text("Nothing waits.")
    tenants = [*(f"tenant-{n}" for n in range(50)), long, spaced, " ", SMALL, NOBODY]
    for tenant in tenants:
        queue.client.send(name, f"of {tenant}", priority=20, tenant=tenant)
    expect(turns.table.locator("tbody tr")).to_have_count(len(tenants))
    quoted = {spaced: f"“{spaced}”", " ": "“ ”"}
    assert turns.read().keys() == {quoted.get(tenant, tenant) for tenant in tenants}
    expect(turns.limit("tenant-49")).to_have_text("held: nothing is handed out")
    assert page.evaluate(STICKS_OUT) <= 0
    box = turns.row(long).get_by_role("cell", name=long).bounding_box()
    assert box and box["width"] < NARROW["width"] / 2
    assert violations(page) == []
    contexts.close()
    queue.control.delete_topic(name, force=True)


def cancel_all(page: Page, tenant: str) -> None:
    """All that waits of a tenant, as an operator does it from its row."""
    Turns(page).row(tenant).get_by_role("button", name="All matching…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Tenant")).to_have_value(tenant)
    dialog.get_by_role("group", name="Action").get_by_role("button", name="Cancel").click()
    start = dialog.get_by_role("button", name=re.compile("^Start: Cancel ·"))
    expect(start).to_be_visible()  # it has been counted
    dialog.get_by_label("Reason").fill("sent twice")
    expect(start).to_be_disabled()  # so many at once need the name of the topic
    dialog.get_by_label(re.compile("type the topic")).fill(TOPIC)
    start.click()
    expect(page.get_by_role("region", name="Progress")).to_contain_text("Done", timeout=120_000)
