"""Progress, log and result of a message: kept for a while, read by its id."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rmq_core import Delivery, PriorityMessage, Report, TopicKind
from rmq_core.errors import InvalidMessage, MessageFailed, NoResult
from rmq_core.model.report import RESULT_HEADER
from tests.engine.conformance.bench import Bench, message
from tests.engine.conformance.conftest import clients_alone, scripts_alone


async def report(bench: Bench, ident: str = "a", topic: str = "work") -> Report:
    found = await bench.q.report(topic, ident)
    assert isinstance(found, Report)
    return found


async def test_what_is_told_is_read_by_id(bench: Bench) -> None:
    await bench.topic(slots=4, result_for_ms=60_000)
    assert await bench.q.report("work", "a") is None
    await bench.q.send("work", PriorityMessage("a", 20, slot_basis="elsewhere"))
    assert (await report(bench)).state == "ready"
    delivery = await bench.take_one()
    began_ms = await bench.now_ms()
    assert await bench.q.note(delivery, progress={"done": 1, "of": 3}, log="read it") == "done"
    assert await bench.q.note(delivery, log="wrote\nit") == "done"
    found = await report(bench)
    assert (found.state, found.progress, found.slot, found.done) == (
        "in_flight",
        {"done": 1, "of": 3},
        delivery.slot,
        False,
    )
    assert [(line.attempt, line.text) for line in found.lines] == [(1, "read it"), (1, "wrote\nit")]
    assert all(began_ms <= at <= began_ms + 10_000 for at in (found.progress_ms or 0, found.lines[1].at_ms))
    with pytest.raises(NoResult, match="no result yet: it is in_flight"):
        await bench.q.result("work", "a")
    assert await bench.q.note(delivery, result={"n": 2**60, "text": "é\ud800"}) == "done"
    with pytest.raises(NoResult, match="in_flight"):
        await bench.q.result("work", "a")
    await bench.q.ack(delivery)
    assert (await report(bench)).done and (await report(bench)).progress == {"done": 1, "of": 3}
    assert await bench.q.result("work", "a") == {"n": 2**60, "text": "é\ud800"}
    assert await bench.q.note(delivery, progress=1) == "stale"


@clients_alone
async def test_a_result_is_waited_for(bench: Bench) -> None:
    await bench.topic(result_for_ms=60_000)
    await bench.q.send("work", PriorityMessage("a", 20))
    waiting = asyncio.create_task(bench.q.result("work", "a", timeout_ms=20_000))
    delivery = await bench.take_one()
    await bench.q.note(delivery, result=None)
    await bench.q.ack(delivery)
    assert await waiting is None
    assert (await report(bench)).result_ms is not None


@clients_alone
async def test_a_result_is_kept_only_where_somebody_asks(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", {"n": 1}, priority=20, key="asks", result_for_ms=60_000)
    await bench.q.send("work", PriorityMessage("says", 30, headers={RESULT_HEADER: "60000"}))
    await bench.q.send("work", PriorityMessage("silent", 40))
    for delivery in await bench.q.take("work", 3):
        await bench.q.note(delivery, result=delivery.id)
        await bench.q.ack(delivery)
    assert await bench.q.result("work", "asks") == "asks"
    assert await bench.q.result("work", "says") == "says"
    with pytest.raises(NoResult, match="nothing is known"):
        await bench.q.result("work", "silent")


@scripts_alone
async def test_a_later_message_of_the_same_id_begins_anew(bench: Bench) -> None:
    await bench.topic(result_for_ms=60_000)
    for turn in (1, 2):
        await bench.q.send("work", PriorityMessage("a", 20))
        with pytest.raises(NoResult, match="ready"):
            await bench.q.result("work", "a")
        delivery = await bench.take_one()
        await bench.q.note(delivery, log=f"turn {turn}")
        assert [line.text for line in (await report(bench)).lines] == [f"turn {turn}"]
        await bench.q.note(delivery, result=turn)
        await bench.q.ack(delivery)
        assert await bench.q.result("work", "a") == turn


@scripts_alone
async def test_the_lines_are_the_last_ones_of_all_attempts(bench: Bench) -> None:
    await bench.topic(max_retries=1)
    await bench.q.send("work", PriorityMessage("a", 20))
    for attempt in (1, 2):
        delivery = await bench.take_one()
        for n in range(60):
            await bench.q.note(delivery, log=f"{attempt}.{n}")
        await bench.q.nack(delivery, error="ValueError", message="no")
    found = await report(bench)
    assert (len(found.lines), found.lines_dropped) == (100, 20)
    assert [found.lines[n].text for n in (0, 39, 40, 99)] == ["1.20", "1.59", "2.0", "2.59"]
    assert {line.attempt for line in found.lines} == {1, 2}
    assert found.state == "dead" and found.failure is not None
    with pytest.raises(MessageFailed, match="dead letter: ValueError: no"):
        await bench.q.result("work", "a", timeout_ms=10_000)


@scripts_alone
async def test_what_was_kept_long_enough_is_gone(bench: Bench) -> None:
    await bench.topic(result_for_ms=50)
    await bench.q.send_many("work", [PriorityMessage(each, 20) for each in "ab"])
    keys = bench.q.keyspace.slot("work", 0).reports
    for delivery in await bench.q.take("work", 2):
        await bench.q.note(delivery, result=1)
        await bench.q.ack(delivery)
    await bench.until(lambda: bench.raw.exists(*keys) == 0, "the keys to end")
    assert await bench.q.report("work", "a") is None
    # Beside what is kept for longer, it goes when the next one is told.
    await bench.q.send_many("work", [PriorityMessage(each, 30 - n) for n, each in enumerate("cde")])
    one, two, three = await bench.q.take("work", 3)
    await bench.q.note(two, progress=0.5)  # first: it would take away a result that has ended by then
    await bench.q.note(one, result=1)
    await bench.q.ack(one)
    await bench.until(lambda: _is_none(bench, "c"), "the result to end")
    assert bench.raw.zcard(keys[1]) == 2
    await bench.q.note(three, progress=0.5)
    assert (bench.raw.zcard(keys[1]), bench.raw.hlen(keys[0])) == (2, 2)


async def _is_none(bench: Bench, ident: str) -> bool:
    return await bench.q.report("work", ident) is None


@scripts_alone
async def test_a_group_of_a_stream_has_its_own(bench: Bench) -> None:
    await bench.topic(TopicKind.STREAM, "events")
    for group in ("one", "two"):
        await bench.q.define_group("events", group)
    ident = (await bench.q.send("events", "a")).id
    delivery = await bench.take_one("events@one")
    await bench.q.note(delivery, log="here")
    assert [line.text for line in (await report(bench, ident, "events@one")).lines] == ["here"]
    other = await bench.q.report("events@two", ident)
    assert other is None or other.lines == ()
    await bench.q.ack(delivery)


@clients_alone
@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"progress": object()}, "cannot be written as JSON"),
        ({"progress": "x" * 70_000}, "at most 65,536 bytes"),
        ({"result": "x" * 270_000}, "at most 262,144 bytes"),
        ({"result": float("nan")}, "nan"),
    ],
)
async def test_what_cannot_be_kept_is_refused(bench: Bench, told: dict[str, Any], words: str) -> None:
    await bench.topic(result_for_ms=60_000)
    await bench.q.send("work", message(TopicKind.PRIORITY, "a"))
    delivery: Delivery = await bench.take_one()
    with pytest.raises(InvalidMessage, match=words):
        await bench.q.note(delivery, **told)
    with pytest.raises(InvalidMessage, match=r"client\.note"):
        delivery.progress(1)
    await bench.q.ack(delivery)
