"""The history: what was seen, by whom it was changed, and the pages that show it."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError
from django.test import Client

from console.engine import new_async_engine
from console.keeper.definitions import DefinitionHistory
from console.keeper.periodic import ErrorLog, run_task
from console.models import TopicRevision
from console.options import options
from console.serializers.topics import revision_json
from console.snapshots.store import LiveKeys
from console.usecases.definitions import revisions as topic_history
from rmq_core import Topic
from tests.console.conftest import Queue
from tests.console.definitions.steps import Editors, look, stored, tag_of
from tests.support.waiting import wait_until_async


def test_changes_by_code_are_noted_when_first_seen(queue: Queue, db: None) -> None:
    queue.topic(weight=2)
    assert look(queue) == 1
    assert look(queue) == 0
    queue.control.put_topic(dataclasses.replace(stored(queue), weight=4), 1)
    assert look(queue) == 1
    newest, first = topic_history.page("orders")
    assert (newest.via, newest.username, newest.change) == ("code", "", "edited")
    assert newest.difference == [{"field": "weight", "before": 2, "after": 4}]
    assert revision_json(newest)["by_code"]
    assert first.change == "created"


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.usefixtures("roles_come_back")
async def test_the_keeper_looks_by_itself(queue: Queue) -> None:
    engine, stop = new_async_engine(), asyncio.Event()
    task = DefinitionHistory(engine, LiveKeys(options().namespace))
    watching = asyncio.create_task(run_task(task, ErrorLog(), stop))

    def rows() -> list[TopicRevision]:
        return topic_history.page("orders")

    async def changes(expected: list[str]) -> None:
        async def seen() -> bool:
            # SQLite in memory, shared by threads, waits for nobody who writes.
            with suppress(OperationalError):
                return [row.change for row in await sync_to_async(rows)()] == expected
            return False

        await wait_until_async(seen, what=f"the history says {expected}")

    queue.topic()
    await changes(["created"])
    queue.control.pause("orders")
    await changes(["edited", "created"])
    queue.control.delete_topic("orders")
    await changes(["deleted", "edited", "created"])
    stop.set()
    await watching
    await engine.client.close()


def test_versions_that_nobody_saw_are_not_made_up(queue: Queue, db: None) -> None:
    queue.topic()
    for weight in (2, 3, 4):
        queue.control.put_topic(dataclasses.replace(stored(queue), weight=weight), weight - 1)
    look(queue)
    (only,) = topic_history.page("orders")
    assert (only.version, only.change, only.difference) == (4, "found", [])


def test_a_deleted_topic_and_its_namesake_are_told_apart(queue: Queue, db: None) -> None:
    queue.topic(weight=2)
    look(queue)
    queue.control.delete_topic("orders")
    queue.inspector.now_ms()
    assert look(queue) == 1
    assert look(queue) == 0
    queue.topic(weight=7)
    look(queue)
    assert [(row.change, row.version) for row in topic_history.page("orders")] == [
        ("created", 1),
        ("deleted", 1),
        ("created", 1),
    ]
    assert topic_history.page("orders")[0].difference == []


def test_a_change_of_ours_that_the_keeper_saw_first_is_still_ours(
    queue: Queue, editors: Editors, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.topic()
    record = topic_history.record

    def seen_first(topic: Topic, *args: Any) -> Any:
        look(queue)
        return record(topic, *args)

    monkeypatch.setattr(topic_history, "record", seen_first)
    editors.put({"weight": 2}, tag_of(queue), reason="mine")
    rows = [row for row in topic_history.page("orders") if row.version == 2]
    assert [(row.username, row.reason, row.change) for row in rows] == [("editor", "mine", "edited")]


def test_a_topic_made_after_the_look_is_not_taken_for_gone(queue: Queue, db: None) -> None:
    at_ms = queue.inspector.now_ms()
    before = queue.inspector.topics()
    queue.topic()
    topic_history.note(stored(queue))
    assert topic_history.look(before, at_ms) == 0
    assert topic_history.page("orders")[0].change == "created"


def test_the_history_is_paged(queue: Queue, editors: Editors, as_role: Callable[..., Client]) -> None:
    queue.topic()
    for weight in range(2, 27):
        queue.control.put_topic(dataclasses.replace(stored(queue), weight=weight), weight - 1)
        look(queue)
    browser = as_role("Viewer")
    first = browser.get("/api/v1/topics/orders/revisions?limit=20").json()
    assert [row["version"] for row in first["revisions"]] == list(range(26, 6, -1))
    rest = browser.get(f"/api/v1/topics/orders/revisions?limit=20&cursor={first['next']}").json()
    assert [row["version"] for row in rest["revisions"]] == list(range(6, 1, -1))
    assert rest["next"] is None
    assert browser.get("/api/v1/topics/orders/revisions?cursor=orders/999999999").status_code == 422


def test_the_admin_lists_definitions_and_their_history(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic(description="<b>bold</b>")
    look(queue)
    browser = as_role("Viewer")
    listed = browser.get("/admin/console/topicdefinition/")
    assert listed.status_code == 200
    assert "/topicdefinition/orders/change/" in listed.content.decode()
    assert "/topicdefinition/add/" not in listed.content.decode()
    queue.topic("mail")
    look(queue)
    revisions = browser.get("/admin/console/topicdefinition/orders/history/", follow=True)
    assert revisions.status_code == 200
    assert "orders" in revisions.content.decode() and "mail" not in revisions.content.decode()
    row = TopicRevision.objects.get(topic="orders")
    assert browser.get(f"/admin/console/topicrevision/{row.pk}/change/").status_code == 200
    assert "/topicdefinition/add/" in as_role("Editor").get("/admin/console/topicdefinition/").content.decode()


def test_the_new_topic_page_begins_like_another(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic(weight=42, paused=True)
    browser = as_role("Editor")
    page = browser.get("/define/?like=orders").content.decode()
    assert '"weight": 42' in page and '"paused": false' in page
    assert browser.get("/define/?like=nosuch").status_code == 200
