"""What lies under the keys of the console's live data and is none of ours counts as not there, and stops nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from console.engine import AsyncEngine
from console.keeper.sampler import Sampler
from console.snapshots import acknowledgements, clusters, store
from console.snapshots.acknowledgements import Acknowledgement
from console.snapshots.store import LiveKeys, read_frame, read_history, read_sparks
from tests.console.api.conftest import Caller, make_token, problem
from tests.console.conftest import Queue

BAD = [
    b"\xff",
    b"{}",
    b"[]",
    b"null",
    b'{"topics":5}',
    b"x\n{}",
    b"7\nnull",
    b"7\n\xff",
    b"1\n{",
    "٣\n{}".encode(),
    b"[",
]
"""Not our shape, not our type, not text."""
BAD_COUNTS = [b"\xff", b"{", b"[]", b"null", b"7", b"{}", b'{"counts":[]}', b'{"at_ms":"x","counts":{"f":["y"]}}',
              b'{"at_ms":1,"counts":{"f":7}}', b'{"at_ms":null,"counts":{}}', b"[" * 100_000]  # fmt: skip


def put(queue: Queue, key: str, value: bytes | None) -> None:
    """None: a list, where text should be."""
    commands: list[tuple[Any, ...]] = [("DEL", key), ("RPUSH", key, "x") if value is None else ("SET", key, value)]

    def work() -> Any:
        yield commands

    queue.client.run(work())


@pytest.mark.parametrize("bad", [*BAD, None])
def test_a_frame_that_is_none_is_as_if_there_were_none(
    queue: Queue, keys: LiveKeys, as_role: Any, bad: bytes | None
) -> None:
    queue.topic()
    browser: Client = as_role("Viewer")
    asking = Caller(make_token("Viewer")[0])
    for key in (keys.overview, keys.metrics, keys.fleet, keys.sparks):
        put(queue, key, bad)
    for key in (keys.overview, keys.metrics, keys.fleet):
        assert queue.client.run(read_frame(key)) is None
    for path in ("/", "/workers/", "/topics/orders/"):
        assert browser.get(path).status_code == 200, path
    problem(asking.get("/metrics"), 503, "not_sampled")
    assert [topic["name"] for topic in asking.ok("GET", "/topics")["topics"]] == ["orders"]


def test_a_good_frame_is_read(queue: Queue, keys: LiveKeys) -> None:
    put(queue, keys.overview, b'12\n{"topics": []}')
    put(queue, keys.sparks, '{"sparks": {"日": [1]}}'.encode())
    assert queue.client.run(read_frame(keys.overview)) == (12, '{"topics": []}')
    assert json.loads(queue.client.run(read_sparks(keys.sparks)) or "") == {"sparks": {"日": [1]}}


@pytest.mark.parametrize("bad", [*BAD_COUNTS, None])
def test_bad_counts_of_one_topic_neither_stop_the_others_nor_stay(
    queue: Queue, keys: LiveKeys, as_role: Any, bad: bytes | None
) -> None:
    queue.topic()
    queue.topic("good")
    queue.dead()
    queue.client.run(clusters.note(keys, {"good": {"f": 3}}, 1_000_000))
    put(queue, keys.clusters("orders"), bad)
    found = queue.client.run(clusters.read(keys, ["good", "orders"]))
    assert found == {"good": {"f": [3]}, "orders": {}}
    browser: Client = as_role("Viewer")
    for path in ("/api/v1/topics/orders/clusters", "/api/v1/dead"):
        answer = browser.get(path)
        assert answer.status_code == 200 and answer.json()["clusters"], path
    queue.client.run(clusters.note(keys, {"good": {"f": 4}, "orders": {"g": 1}}, 2_000_000))
    assert queue.client.run(clusters.read(keys, ["good", "orders"])) == {"good": {"f": [3, 4]}, "orders": {"g": [1]}}


def test_points_that_are_none_are_left_out(queue: Queue, keys: LiveKeys) -> None:
    def fill() -> Any:
        yield [("RPUSH", keys.history("orders"), "[1,2.5,null,[3]]", b"\xff", "{}", '["<b>"]', "[1", "[-4]")]

    queue.client.run(fill())
    assert json.loads(queue.client.run(read_history(keys.history("orders")))) == [[1, 2.5, None, [3]], [-4]]
    put(queue, keys.history("orders"), b"text")
    assert queue.client.run(read_history(keys.history("orders"))) == "[]"


WRONG = [{"until_ms": "x"}, {"until_ms": None}, {"until_ms": True}, {"until_ms": 2**70}, {"until_ms": -1},
         {"count": []},
         {"count": -1}, {"by": {}}, {"at_ms": "1"}, {"version": "x"}, {"version": None}, {"reason": 7},
         {"more": 1}]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=str)
async def test_a_bad_acknowledgement_is_none_and_stops_no_look(
    queue: Queue, own: AsyncEngine, keys: LiveKeys, wrong: dict[str, Any]
) -> None:
    queue.topic()
    queue.dead()
    good = {"until_ms": 2**50, "count": 1, "by": "a", "at_ms": 1, "version": 1, "reason": ""}
    await run(own, [("HSET", keys.acknowledged, "orders", json.dumps(good | wrong), b"\xff", json.dumps(good))])
    assert await own.client.run(acknowledgements.read(keys.acknowledged)) == {}
    await looks(queue, own, keys)


@pytest.mark.parametrize("name", ["watch", "acknowledged"])
async def test_a_key_of_another_type_stops_no_look(queue: Queue, own: AsyncEngine, keys: LiveKeys, name: str) -> None:
    """It is one of ours, so it is started again; other keys of the console are not touched."""
    queue.topic()
    queue.dead()
    key = getattr(keys, name)
    await run(own, [("SET", key, "x")])
    await looks(queue, own, keys)
    await run(own, [("SET", key, "x")])
    await own.client.run(store.watch(own.client.keyspace, keys.watch, "orders"))
    made = Acknowledgement(2**40, 1, "a", 1, 1)
    await own.client.run(acknowledgements.write(keys.acknowledged, "orders", made))
    assert await own.client.run(acknowledgements.read(keys.acknowledged)) == {"orders": made}
    assert "orders" in await own.client.run(store.watched(keys.watch, 1))


async def test_a_watched_name_that_is_no_text_stops_no_look(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    queue.topic()
    await run(own, [("ZADD", keys.watch, 2**50, b"\xff", 2**50, "orders")])
    assert await own.client.run(store.watched(keys.watch, 1)) == {"orders"}
    await looks(queue, own, keys)


async def run(own: AsyncEngine, commands: list[tuple[Any, ...]]) -> None:
    def work() -> Any:
        yield commands

    await own.client.run(work())


async def looks(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    sampler = Sampler(own, keys, interval_ms=1000, lag_warning_ms=10_000)
    for _ in range(2):
        await sampler.round()
    frame = await own.client.run(read_frame(keys.overview))
    assert frame is not None and [topic["name"] for topic in json.loads(frame[1])["topics"]] == ["orders"]
