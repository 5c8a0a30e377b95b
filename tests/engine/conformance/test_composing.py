"""Sending a content with keywords: what it becomes, what the server's clock says, what does not fit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rmq_core import DelayedMessage, FixedTimeMessage, TopicKind, errors
from rmq_core.model.topic import QUEUE_KINDS
from tests.engine.conformance.bench import FAR_MS, Bench

ORDER = {"number": 4711, "exact": 2**63 + 1, "to": ["Zürich", None, True, 0.1]}
READY: dict[TopicKind, dict[str, Any]] = {
    TopicKind.PRIORITY: {"priority": 900},
    TopicKind.RANGE_MERGE: {"range_ms": 1},
    TopicKind.FIXED_TIME: {"in_ms": 1},
}


@pytest.mark.parametrize("kind", QUEUE_KINDS)
async def test_a_content_and_when_make_a_message(bench: Bench, kind: TopicKind) -> None:
    topic = await bench.topic(kind)
    more = {"key": "order-4711", "slot_basis": "customer", "headers": {"trace": "1"}, "version": 2}
    assert (await bench.q.send(topic, ORDER, **READY[kind], **more))[:2] == ("order-4711", 0)
    delivery = await bench.take_one()
    assert (delivery.json(), delivery.slot_basis) == (ORDER, b"customer")
    assert (delivery.headers, delivery.version) == ({"trace": "1"}, 2)
    await bench.q.ack(delivery)
    sent = [await bench.q.send("work", each, **READY[kind]) for each in ({"b": 1, "a": 2}, {"a": 2, "b": 1})]
    assert [each[:2] for each in sent] == [('{"a":2,"b":1}', 0)] * 2  # equal values are one message
    for each in ("text", b"\xff", "null"):
        await bench.q.send("work", each, **READY[kind])
    contents: list[bytes] = []
    while len(contents) < 4:
        delivery = await bench.take_one()
        contents.append(delivery.content)
        await bench.q.ack(delivery)
    assert sorted(contents) == [b"null", b"text", b'{"a":2,"b":1}', b"\xff"]
    for other in set(QUEUE_KINDS) - {kind}:
        with pytest.raises(errors.WrongKind, match=f"takes {kind.value} messages"):
            await bench.q.send("work", ORDER, **READY[other])
    for nothing in ({}, {"key": "a"}):
        with pytest.raises(errors.InvalidMessage, match=r"say .* delivered"):
            await bench.q.send("work", ORDER, **nothing)


@pytest.mark.parametrize("options", [{}, {"max_backlog": 1_000}], ids=["free", "limited"])
async def test_a_delay_counts_by_the_servers_clock(bench: Bench, options: dict[str, Any]) -> None:
    await bench.topic(TopicKind.FIXED_TIME, **options)
    before_ms = await bench.now_ms()
    await bench.q.send("work", "inline", in_ms=FAR_MS)
    await bench.q.send("work", "pooled", in_ms=FAR_MS, headers={"a": "b"})
    mixed = [
        DelayedMessage("twice", 0),  # the last one counts: it is due late
        FixedTimeMessage("fixed", before_ms + FAR_MS),
        DelayedMessage("many", FAR_MS),
        DelayedMessage("many", FAR_MS),
        FixedTimeMessage("twice", before_ms + FAR_MS),
    ]
    assert await bench.q.send_many("work", mixed) == (3, 2)
    after_ms = await bench.now_ms()
    rows = (await bench.inspector.messages("work", "delayed")).rows
    assert sorted(row.id for row in rows) == ["fixed", "inline", "many", "pooled", "twice"]
    assert all(before_ms <= row.score_ms - FAR_MS <= after_ms for row in rows)
    # A duplicate takes the last time, and 0 is at once.
    assert (await bench.q.send("work", "inline", in_ms=0)).merged
    assert (await bench.q.send("work", "pooled", in_ms=0, headers={"a": "c"})).merged
    assert [each.text for each in await bench.drain()] == ["inline", "pooled"]


async def test_now_is_no_error(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    now_ms = await bench.now_ms()
    await bench.q.send("work", "a", at=now_ms)
    await bench.q.send("work", "b", at=datetime.fromtimestamp(now_ms / 1000, UTC) - timedelta(seconds=10))
    await bench.q.send("work", "c", in_ms=0)
    assert await bench.q.send_many("work", [FixedTimeMessage("d", now_ms), DelayedMessage("e", 0)]) == (2, 0)
    assert {each.text for each in await bench.drain()} == set("abcde")
    with pytest.raises(errors.DueInThePast, match=r"6\d\d\d\d ms in the past"):
        await bench.q.send("work", "f", at=now_ms - 60_000)
    await bench.q.send("work", "f", at=now_ms - 60_000, allow_past=True)
    assert [each.text for each in await bench.drain()] == ["f"]
