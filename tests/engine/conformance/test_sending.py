"""What is sent is what is delivered; what cannot be sent is refused whole."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any
from zlib import crc32

import pytest

from rmq_core import PriorityMessage, RangeMergeMessage, TopicKind, errors
from rmq_core.model.topic import QUEUE_KINDS
from tests.engine.conformance.bench import SOON_MS, Bench, message

CONTENTS: dict[str, Any] = {
    "text": "plain text",
    "unicode": "Zürich ✈ 東京",
    "bytes": b"\x00\xff\r\n\x80*3\r\n",
    "percent": "%41",
    "sixty-four bytes": b"x" * 64,
    "sixty-five bytes": b"x" * 65,
    "large": b"\xfe" * 200_000,
    "looks like a stored body": b"0 0 payload",
}


async def test_any_content_arrives_as_it_was_sent(bench: Bench) -> None:
    await bench.topic()
    for name, content in CONTENTS.items():
        raw = content if isinstance(content, bytes) else content.encode()
        sent = await bench.q.send("work", message(TopicKind.PRIORITY, content))
        delivery = await bench.take_one()
        assert delivery.content == raw, name
        assert delivery.raw_id == (raw if len(raw) <= 64 else blake2b(raw, digest_size=16).digest()), name
        assert (delivery.id, delivery.slot, delivery.headers, delivery.version) == (sent.id, sent.slot, {}, 0), name
        assert await bench.q.ack(delivery) == ["done"], name
        assert bench.ledger().held == set(), name


@pytest.mark.parametrize("kind", QUEUE_KINDS)
async def test_headers_key_and_version_arrive(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind)
    when = {"due_ms": await bench.now_ms() + SOON_MS} if kind is TopicKind.FIXED_TIME else {}
    headers = {"trace": "4bf9", "größe": "ü", "": "\n"}
    sending = message(kind, "body", key="order-7", headers=headers, version=3, **when)
    sent = await bench.q.send("work", sending, allow_past=True)
    assert sent == ("order-7", 0, False)
    delivery = await bench.take_one()
    assert (delivery.id, delivery.content, delivery.headers, delivery.version) == ("order-7", b"body", headers, 3)
    assert (delivery.attempt, delivery.ref) == (1, (0, "order-7"))
    await bench.q.ack(delivery)
    assert bench.ledger().pools["body"] == {}


async def test_slot_is_the_crc_of_basis_then_key_then_content(bench: Bench) -> None:
    await bench.topic(slots=16)
    for basis, options in (
        (b"content", {}),
        (b"the key", {"key": "the key"}),
        (b"%basis", {"key": "the key", "slot_basis": "%basis"}),
        (b"only basis", {"slot_basis": b"only basis"}),
    ):
        sent = await bench.q.send("work", message(TopicKind.PRIORITY, "content", **options))
        assert sent.slot == crc32(basis) % 16
    assert {(d.slot, d.id) for d in await bench.drain()} == {
        (crc32(b"content") % 16, "content"),
        (crc32(b"the key") % 16, "the key"),
        (crc32(b"%basis") % 16, "the key"),
        (crc32(b"only basis") % 16, "content"),
    }


async def test_many_messages_of_every_shape_arrive_once(bench: Bench) -> None:
    await bench.topic(slots=4)
    messages = [
        PriorityMessage(
            b"%05d" % i * (1 + 20 * (i % 3 == 0)), 17 + i % 5, headers={"n": str(i)} if i % 7 == 0 else None
        )
        for i in range(5_000)
    ]
    assert await bench.q.send_many("work", messages) == (5_000, 0)
    assert await bench.q.send_many("work", messages[:2_000]) == (0, 2_000)
    delivered = await bench.drain()
    assert sorted(d.content for d in delivered) == sorted(m.content for m in messages)
    assert all(d.headers == ({"n": str(int(d.content[:5]))} if int(d.content[:5]) % 7 == 0 else {}) for d in delivered)


async def test_a_slot_takes_more_than_one_script_call_holds(bench: Bench) -> None:
    await bench.topic()
    assert await bench.q.send_many("work", (PriorityMessage(str(i), 17) for i in range(2_500))) == (2_500, 0)
    assert await bench.q.send_many("work", []) == (0, 0)
    taken = [d for _ in range(3) for d in await bench.q.take("work", 1_000)]
    assert await bench.q.ack(taken) == ["done"] * 2_500
    assert await bench.q.ack(taken) == ["stale"] * 2_500


@pytest.mark.parametrize("options", [{}, {"headers": {"a": "b"}}], ids=["inline", "pooled"])
async def test_equal_messages_in_one_batch_merge(bench: Bench, options: dict[str, Any]) -> None:
    await bench.topic()
    messages = [PriorityMessage("same", priority, **options) for priority in (20, 30, 25)]
    assert await bench.q.send_many("work", messages) == (1, 2)
    delivery = await bench.take_one()
    assert delivery.priority == 25
    await bench.q.ack(delivery)


async def test_a_repeated_send_changes_nothing(bench: Bench) -> None:
    await bench.topic()
    again = PriorityMessage("x" * 100, 50, headers={"a": "b"})
    first = await bench.q.send("work", again)
    second = await bench.q.send("work", again)
    assert (first.merged, second.merged) == (False, True)
    assert first[:2] == second[:2]
    assert len(await bench.drain()) == 1


async def test_due_in_the_past_is_refused_unless_allowed(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    past = message(TopicKind.FIXED_TIME, "late", due_ms=await bench.now_ms() - 60_000)
    for options in ({}, {"headers": {"a": "b"}}):
        late = message(TopicKind.FIXED_TIME, "late", due_ms=past.due_ms, **options)
        with pytest.raises(errors.DueInThePast, match=r"60\d\d\d ms in the past"):
            await bench.q.send("work", late)
        with pytest.raises(errors.DueInThePast):
            await bench.q.send_many("work", [late])
    assert bench.ledger().held == set()
    assert bench.ledger().stats == {}
    await bench.q.send("work", past, allow_past=True)
    assert await bench.q.send_many("work", [past], allow_past=True) == (0, 1)
    (delivery,) = await bench.drain()
    assert delivery.due_ms == past.due_ms


async def test_a_message_of_another_kind_is_refused(bench: Bench) -> None:
    await bench.topic(TopicKind.PRIORITY)
    wrong = RangeMergeMessage("x", 10)
    with pytest.raises(errors.WrongKind, match="'work' takes priority messages, not range-merge"):
        await bench.q.send("work", wrong)
    with pytest.raises(errors.WrongKind):
        await bench.q.send_many("work", [PriorityMessage("fine", 20), wrong])
    assert bench.ledger().held == set()


async def test_content_too_large_is_refused_by_name(bench: Bench) -> None:
    await bench.topic(max_content_bytes=100)
    too_large = PriorityMessage("ü" * 51, 20)
    for send in (bench.q.send("work", too_large), bench.q.send_many("work", [too_large])):
        with pytest.raises(errors.ContentTooLarge, match=r"has 102 bytes; topic 'work' takes at most 100"):
            await send
    await bench.q.send("work", PriorityMessage("ü" * 50, 20))
    assert len(await bench.drain()) == 1


async def test_an_unknown_topic_is_named(bench: Bench) -> None:
    for call in (
        bench.q.send("nowhere", PriorityMessage("x", 20)),
        bench.q.send_many("nowhere", [PriorityMessage("x", 20)]),
        bench.q.take("nowhere"),
        bench.q.topic("nowhere"),
        bench.control.pause("nowhere"),
        bench.control.cancel("nowhere", ["x"]),
        bench.control.delete_topic("nowhere"),
        bench.inspector.messages("nowhere", "ready"),
        bench.inspector.find("nowhere", "x"),
    ):
        with pytest.raises(errors.UnknownTopic, match="'nowhere'"):
            await call
