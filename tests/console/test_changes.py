"""Frames of all topics as differences: what a page makes of them is what the whole frame would have been."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User

from console.engine import async_engine
from console.keeper import live_tasks
from console.keeper.live_tasks import Sampling
from console.live import sockets
from console.live.changes import overview_changes
from console.live.frames import Frames, frames
from console.models import TopicScope
from console.options import options
from console.snapshots import store
from console.snapshots.groups import OVERVIEW
from console.snapshots.store import LiveKeys
from tests.console.conftest import Queue
from tests.console.test_sockets import layer, opened, signed_in  # noqa: F401
from tests.support.waiting import wait_until_async


def frame(at_ms: int, **topics: int) -> dict[str, Any]:
    lines = [{"name": name, "at_ms": at_ms, "backlog": backlog} for name, backlog in topics.items()]
    return {"type": "overview", "at_ms": at_ms, "problems": [], "topics": lines}


def whole_frame(at_ms: int, **topics: int) -> dict[str, Any]:
    """With what somebody's own totals are made of."""
    found = frame(at_ms, **topics) | {"interval_ms": 1_000, "server": {}}
    nothing = dict.fromkeys(("in_s", "out_s", "failed_s", "ready", "retrying", "in_flight", "dead", "lag_ms"), 0)
    found["topics"] = [{"kind": "priority", "oldest_ms": None, **nothing, **line} for line in found["topics"]]
    return found


def applied(before: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """As `changed` of overview.js does it."""
    assert changes["from_ms"] == before["at_ms"]
    lines = {line["name"]: line for line in [*before["topics"], *changes["topics"]]}
    names = list(lines) if changes["names"] is None else changes["names"]
    return {"at_ms": changes["at_ms"], "topics": [lines[name] for name in names]}


@pytest.mark.parametrize(
    ("before", "after", "sent"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, []),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ["b"]),
        ({"a": 1}, {"a": 1, "b": 2}, ["b"]),
        ({"a": 1, "b": 2}, {"b": 2}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({}, {"a": 1}, ["a"]),
        ({"a": 1}, {}, []),
    ],
)
def test_changes_make_the_new_frame(before: dict[str, int], after: dict[str, int], sent: list[str]) -> None:
    old, new = frame(1, **before), frame(2, **after)
    changes = json.loads(overview_changes(old, new) or "")
    assert [line["name"] for line in changes["topics"]] == sent and changes["problems"] == []
    made = applied(old, changes)
    assert [(line["name"], line["backlog"]) for line in made["topics"]] == list(after.items())


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.usefixtures("roles_come_back")
async def test_only_who_has_the_frame_before_is_sent_what_changed(queue: Queue, signed_in: Any) -> None:  # noqa: F811
    keys = LiveKeys(options().namespace)
    _, cookie = await signed_in("Viewer")

    async def now(at_ms: int, **topics: int) -> None:
        queue.client.run(store.write_frames({keys.overview: json.dumps(frame(at_ms, **topics))}, at_ms))
        await layer().group_send(OVERVIEW, {"type": "tick", "seq": at_ms})

    await now(10, a=1, b=1)
    async with opened("/live/overview/?changes=1", cookie) as one, opened("/live/overview/", cookie) as plain:
        assert (await one.receive())["type"] == (await plain.receive())["type"] == "overview"
        await now(20, a=1, b=2)
        changes = await one.receive()
        assert (changes["type"], changes["from_ms"]) == ("overview_changes", 10)
        assert [line["name"] for line in changes["topics"]] == ["b"]
        assert [line["name"] for line in (await plain.receive())["topics"]] == ["a", "b"]
        async with opened("/live/overview/?changes=1", cookie) as late:
            assert (await late.receive())["type"] == "overview"
            await now(30, a=2, b=2)
            assert (await late.receive())["from_ms"] == (await one.receive())["from_ms"] == 20
            # Who has missed one is sent all.
            queue.client.run(store.write_frames({keys.overview: json.dumps(frame(40, a=3))}, 40))
            await frames().following(keys.overview, 40, ("*",), 30)
            await now(50, a=4)
            assert (await late.receive())["type"] == (await one.receive())["type"] == "overview"


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.usefixtures("roles_come_back")
async def test_whose_topics_are_others_is_sent_all_of_them(
    queue: Queue,
    signed_in: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What changed among the topics of a colleague would leave on the page what was taken away."""
    monkeypatch.setattr(sockets, "RECHECK_S", 0.1)
    keys = LiveKeys(options().namespace)
    (mine, my_cookie), (other, cookie) = await signed_in("Viewer"), await signed_in("Operator")

    def give(user: User, patterns: str) -> None:
        group = Group.objects.create(name=f"of {user.pk}")
        TopicScope.objects.create(group=group, patterns=patterns)
        user.groups.add(group)

    await sync_to_async(give)(mine, "a, b")
    await sync_to_async(give)(other, "a")
    at_ms = 0

    async def next_look() -> None:
        nonlocal at_ms
        at_ms += 10
        queue.client.run(store.write_frames({keys.overview: json.dumps(whole_frame(at_ms, a=at_ms, b=1))}, at_ms))
        await layer().group_send(OVERVIEW, {"type": "tick", "seq": at_ms})

    await next_look()
    path = "/live/overview/?changes=1"
    async with opened(path, my_cookie) as one, opened(path, cookie) as colleague:
        page = await one.receive()
        assert [line["name"] for line in page["topics"]] == ["a", "b"]
        assert (await colleague.receive())["type"] == "overview"
        await sync_to_async(TopicScope.objects.filter(patterns="a, b").update)(patterns="a")

        async def taken_away() -> bool:
            nonlocal page
            await next_look()
            while not await one.receive_nothing(timeout=0.05):
                told = await one.receive()
                page = told if told["type"] == "overview" else applied(page, told)
            return [line["name"] for line in page["topics"]] == ["a"]

        await wait_until_async(taken_away, what="the other topic to go")


async def test_who_comes_at_once_is_read_for_once(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five hundred come back when the server was started anew, and each would take a connection to Redis."""
    reads = 0
    client = async_engine().client
    run = client.run

    async def counted(operation: Any) -> Any:
        nonlocal reads
        reads += 1
        return await run(operation)

    monkeypatch.setattr(client, "run", counted)
    keys = LiveKeys(options().namespace)
    kept = Frames()
    await asyncio.gather(*(kept.text(keys.sparks, store.read_sparks(keys.sparks)) for _ in range(500)))
    assert reads == 1
    await kept.text(keys.sparks, store.read_sparks(keys.sparks))
    assert reads == 2
    await client.close()


async def test_one_dear_look_makes_nobody_wait(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of a keeper writes down a thousand topics; only what stays dear makes looks rarer."""
    engine = async_engine()
    task = Sampling(engine, LiveKeys(options().namespace))
    usual = task.every_s
    clock = iter([0.0, 2.0, 2.0, 2.01, 3.0, 5.0, 5.0, 8.0])
    monkeypatch.setattr(live_tasks.time, "process_time", lambda: next(clock))

    async def nothing() -> None: ...

    monkeypatch.setattr(task, "_look", nothing)
    paces = []
    for _ in range(4):
        await task.round()
        paces.append(task.every_s)
    assert paces == [usual, usual, usual, 20.0]
    await engine.client.close()
