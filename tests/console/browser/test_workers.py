"""The Workers page, as an operator sees it: two workers with ZooKeeper, one is killed, one is drained."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from rmq_core import Control, Delivery, Inspector, PriorityMessage, Topic, TopicKind, listener
from rmq_core.protocol.scripts import Call, script
from tests.console.browser.conftest import make_people
from tests.console.stack import Stack
from tests.support.waiting import wait_until

PARCELS = Topic("parcels", TopicKind.PRIORITY, slots=8, visibility_timeout_ms=2_000, backoff_ms=0)
MOVED_MS = 60_000


@listener(PARCELS)
def ship(delivery: Delivery) -> None:
    """Hosted by the workers of `up`."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    where = tmp_path_factory.mktemp("fleet") / "data"
    with Stack(where, RMQ_LISTENERS="tests.console.browser.test_workers:ship") as stack:
        make_people(stack)
        wait_until(lambda: owned(stack) == [4, 4], timeout_s=60, what="both workers own their half")
        yield stack


def owned(stack: Stack) -> list[int]:
    with stack.client() as client:
        workers = Inspector(client).workers()
    return sorted(len(worker.slots.get("parcels", ())) for worker in workers if worker.state == "running")


def row(page: Page, name: str) -> Any:
    return page.locator(".rc-workers tbody tr").filter(has=page.locator("th strong", has_text=name))


def test_a_killed_workers_slots_move_and_nothing_is_lost(stack: Stack, open_page: Callable[..., Page]) -> None:
    page = open_page("/workers/")
    expect(page.locator(".rc-workers tbody tr")).to_have_count(2)
    expect(page.locator(".rc-tile").filter(has_text="Slots owned")).to_contain_text("8")
    expect(row(page, "worker-1")).to_contain_text("parcels 4 v1")
    victim = next(pid for pid, command in stack.children().items() if "worker-2" in command)
    os.kill(victim, signal.SIGKILL)
    with stack.client() as client:
        client.send_many("parcels", [PriorityMessage(f"parcel {n}", 20) for n in range(200)])
    # The supervisor starts it again under its name: it gets its slots back.
    expect(page.locator(".rc-timeline")).to_contain_text("took over 4 slots", timeout=MOVED_MS)
    wait_until(lambda: owned(stack) == [4, 4], timeout_s=60, what="the new process owns its half again")
    with stack.client() as client:
        inspector = Inspector(client)
        wait_until(
            lambda: inspector.sample(["parcels"])[0].counters.acked == 200, timeout_s=60, what="every parcel is shipped"
        )
        assert inspector.sample(["parcels"])[0].ledger_gap == 0


def test_a_row_costs_what_its_own_topics_do(stack: Stack, open_page: Callable[..., Page]) -> None:
    """With 2,000 topics and 1,000 workers it is drawn, or passed over, thousands of times a second."""
    names = [f"other-{number}" for number in range(40)]
    with stack.client() as client:
        for name in names:
            client.define(Topic(name, TopicKind.PRIORITY, slots=1))
        page = open_page("/workers/")
        expect(row(page, "worker-1")).to_contain_text("parcels 4 v1")
        _, versions, _ = json.loads(row(page, "worker-1").get_attribute("data-key"))
        assert versions == [1]
        name = row(page, "worker-1").locator("th strong")
        name.evaluate("(element) => (element.marked = true)")
        drawn = row(page, "worker-1").get_attribute("data-key") or ""
        expect(row(page, "worker-1")).not_to_have_attribute("data-key", drawn, timeout=MOVED_MS)
        assert name.evaluate("(element) => element.marked"), "only cells in which something changed are drawn again"
        control = Control(client)
        for name in names:
            control.delete_topic(name, force=True)


def test_a_worker_is_drained_and_undrained(stack: Stack, open_page: Callable[..., Page]) -> None:
    page = open_page("/workers/")
    worker = row(page, "worker-1")
    worker.get_by_role("button", name="Drain").click()
    page.get_by_label("Reason").fill("new kernel")
    page.locator("dialog button[type=submit]").click()
    expect(worker).to_contain_text("Drained", timeout=MOVED_MS)
    wait_until(lambda: owned(stack) == [0, 8], timeout_s=60, what="the other one owns everything")
    worker.get_by_role("button", name="Undrain").click()
    page.locator("dialog button[type=submit]").click()
    wait_until(lambda: owned(stack) == [4, 4], timeout_s=60, what="both own their half again")
    expect(worker).to_contain_text("Running", timeout=MOVED_MS)


def test_slots_are_moved_and_released(stack: Stack, open_page: Callable[..., Page]) -> None:
    page = open_page("/workers/")
    row(page, "worker-1").get_by_role("button", name="Move slots").click()
    page.get_by_label("Slots: numbers and ranges").fill("0-7")
    page.locator("dialog button[type=submit]").click()
    wait_until(lambda: owned(stack) == [0, 8], timeout_s=60, what="all slots are pinned to one")
    page.get_by_label("Placement overrides").get_by_role("button", name="Release").first.click()
    page.locator("dialog button[type=submit]").click()
    wait_until(lambda: owned(stack) == [4, 4], timeout_s=60, what="the balance is back")


def test_a_viewer_is_told_what_is_missing(open_page: Callable[..., Page]) -> None:
    page = open_page("/workers/", "viewer")
    button = row(page, "worker-1").get_by_role("button", name="Drain")
    expect(button).to_have_attribute("aria-disabled", "true")
    button.click(force=True)
    expect(page.locator("#rc-toasts")).to_contain_text("operate")


def test_the_slots_tab_names_owners(open_page: Callable[..., Page]) -> None:
    page = open_page("/topics/parcels/slots/")
    table = page.locator(".rc-table tbody")
    expect(table.locator("tr")).to_have_count(8)
    expect(table).to_contain_text("worker-1")
    expect(table).to_contain_text("worker-2")
    expect(page.locator(".rc-timeline")).to_contain_text("took over")


def test_slots_that_have_owners_stay_owned(open_page: Callable[..., Page]) -> None:
    page = open_page("/topics/parcels/slots/", "admin")
    page.get_by_role("button", name="Return to shared mode").click()
    dialog = page.get_by_role("dialog", name="Hand the slots of parcels back to shared mode?")
    dialog.get_by_label("Reason").fill("no more ZooKeeper")
    dialog.locator("button[type=submit]").click()
    expect(dialog.get_by_role("alert")).to_contain_text("still owns slots of this topic: stop such workers first.")
    page.problems.clear()  # type: ignore[attr-defined]  (the browser reports the 422)


def test_a_topic_with_fewer_turns_is_marked(stack: Stack, open_page: Callable[..., Page]) -> None:
    about = {
        "host": "here", "pid": 8, "topics": ["letters", "parcels"], "started_ms": 1, "threads": 8, "in_flight": 0,
        "done": 0, "failed": 0, "done_per_s": 0.0, "stuck": 0, "version": "1", "state": "running", "stale": 0,
        "slots": {}, "session": "shared", "session_for_ms": 0, "weight": 1, "versions": {},
        "turns": {
            "letters": {"running": 1, "most": 7, "could": 7}, "parcels": {"running": 2, "most": 3, "could": 7},
        },
    }  # fmt: skip
    fleet = open_page("/workers/")
    with stack.client() as client:

        def marked() -> bool:
            call = Call(script("heartbeat"), [client.keyspace.workers], ["slow", json.dumps(about), 3_600_000])
            client.connection.run([call])
            return row(fleet, "slow").get_by_text("Slowed: 3 of 7 turns").count() == 1

        wait_until(marked, timeout_s=30, what="the worker's row says so")
    assert row(fleet, "slow").get_by_text("Slowed").count() == 1


def test_who_consumes_at_most_once_is_marked(stack: Stack, open_page: Callable[..., Page]) -> None:
    about = {
        "host": "here", "pid": 7, "topics": ["parcels"], "started_ms": 1, "threads": 2, "in_flight": 0, "done": 0,
        "failed": 0, "done_per_s": 0.0, "stuck": 0, "version": "1", "state": "running", "stale": 0, "slots": {},
        "session": "shared", "session_for_ms": 0, "weight": 1, "versions": {}, "at_most_once": ["parcels"],
    }  # fmt: skip
    fleet, topic = open_page("/workers/"), open_page("/topics/parcels/")
    with stack.client() as client:

        def marked() -> bool:
            """It reports itself as a worker does, and pages hear of it."""
            call = Call(script("heartbeat"), [client.keyspace.workers], ["lossy", json.dumps(about), 3_600_000])
            client.connection.run([call])
            return row(fleet, "lossy").get_by_text("At most once").count() + topic.locator(
                "#rc-topic-state").get_by_text("At most once").count() == 2  # fmt: skip

        wait_until(marked, timeout_s=30, what="the worker's row and the topic's page say so")
    assert row(fleet, "worker-1").get_by_text("At most once").count() == 0


def test_a_worker_that_came_back_is_shown_as_it_is(stack: Stack, open_page: Callable[..., Page]) -> None:
    about: dict[str, Any] = {
        "host": "here", "pid": 9, "started_ms": 1, "threads": 2, "in_flight": 0, "done": 0, "failed": 0,
        "done_per_s": 0.0, "stuck": 0, "version": "1", "state": "running", "stale": 0, "slots": {},
        "session_for_ms": 0, "weight": 1, "versions": {},
    }  # fmt: skip
    fleet = open_page("/workers/")
    expect(row(fleet, "worker-2")).to_have_count(1)
    with stack.client() as client:
        client.define(Topic("stamps", TopicKind.PRIORITY, slots=4))

        def comes(topic: str, session: str, buttons: int) -> None:
            def is_there() -> bool:
                said = json.dumps(about | {"topics": [topic], "session": session})
                client.connection.run([Call(script("heartbeat"), [client.keyspace.workers], ["back", said, 3_600_000])])
                shown = row(fleet, "back").filter(has_text=topic)
                return shown.count() == 1 and shown.get_by_role("button").count() == buttons

            wait_until(is_there, timeout_s=30, what=f"it is there for {topic}, {session}")

        comes("parcels", "connected", 2)
        expect(fleet.locator(".rc-workers tbody tr").first).to_contain_text("back")
        comes("stamps", "connected", 2)
        row(fleet, "back").get_by_role("button", name="Move slots").click()
        expect(fleet.locator("dialog option")).to_have_text(["stamps (0–3)"])
        fleet.keyboard.press("Escape")
        comes("stamps", "shared", 0)
        client.connection.run([("DEL", client.keyspace.workers)])  # who is there says so again
        expect(row(fleet, "back")).to_have_count(0)
        Control(client).delete_topic("stamps")


def test_what_is_done_to_a_worker_is_in_sight(stack: Stack, open_page: Callable[..., Page]) -> None:
    topics = ["flight-events@notifications", "flight-events@cache.of-a-machine-7.131a26d3"]
    about = {
        "host": "here", "pid": 7, "topics": topics, "started_ms": 1, "threads": 10, "in_flight": 10, "done": 1_234_567,
        "failed": 12_345, "done_per_s": 85.0, "stuck": 0, "version": "0.1.0", "state": "running", "stale": 0,
        "slots": dict.fromkeys(topics, "0-15"), "session": "connected", "session_for_ms": 953_000,
        "weight": 1, "versions": dict.fromkeys(topics, 1),
        "turns": {each: {"running": 1, "most": 1, "could": 2} for each in topics},
    }  # fmt: skip
    fleet = open_page("/workers/")
    with stack.client() as client:

        def is_there() -> bool:
            call = Call(script("heartbeat"), [client.keyspace.workers], ["of-a-machine", json.dumps(about), 3_600_000])
            client.connection.run([call])
            return row(fleet, "of-a-machine").get_by_role("button", name="Drain").count() == 1

        wait_until(is_there, timeout_s=30, what="the worker has a row")
    table = fleet.locator(".rc-scroll:has(.rc-workers)")
    assert table.evaluate("(box) => box.scrollWidth <= box.clientWidth")
