"""What becomes of a delivery: done, retried, dead, released, extended, timed out; what a stale receipt cannot do."""

from __future__ import annotations

import pytest

from rmq_core import FixedTimeMessage, PriorityMessage, RangeMergeMessage, TopicKind, errors
from rmq_core.model.topic import QUEUE_KINDS
from tests.engine.conformance.bench import FAR_MS, SOON_MS, Bench, message
from tests.engine.conformance.conftest import scripts_alone

pytestmark = scripts_alone

TIMEOUT_MS = 100
"""The shortest visibility timeout a topic may have."""


async def send_and_take(bench: Bench, content: str = "a", priority: int = 50):  # type: ignore[no-untyped-def]
    await bench.q.send("work", PriorityMessage(content, priority))
    return await bench.take_one()


async def test_statuses_come_in_the_order_asked_for(bench: Bench) -> None:
    await bench.topic(slots=8)
    await bench.q.send_many("work", [PriorityMessage(str(i), 20) for i in range(40)])
    taken = await bench.q.take("work", 40)
    assert len({d.slot for d in taken}) > 1
    assert await bench.q.ack(taken[::2]) == ["done"] * 20
    assert await bench.q.ack(taken) == ["stale", "done"] * 20
    assert await bench.q.ack([]) == []


@pytest.mark.parametrize("again", ["ack", "nack", "reject", "release", "extend"])
async def test_a_settled_delivery_cannot_be_settled_again(bench: Bench, again: str) -> None:
    await bench.topic()
    delivery = await send_and_take(bench)
    await bench.q.ack(delivery)
    before = bench.ledger()
    assert await getattr(bench.q, again)(delivery) == ["stale"]
    assert bench.ledger() == before


@pytest.mark.parametrize("late", ["ack", "nack", "reject", "release", "extend"])
async def test_after_its_timeout_a_delivery_is_somebody_elses(bench: Bench, late: str) -> None:
    await bench.topic(visibility_timeout_ms=TIMEOUT_MS)
    first = await send_and_take(bench)
    second = await bench.take_one()
    assert second.taken_ms >= first.taken_ms + TIMEOUT_MS
    assert (second.attempt, second.receipt != first.receipt) == (2, True)
    before = bench.ledger()
    assert await getattr(bench.q, late)(first) == ["stale"]
    assert bench.ledger() == before
    assert await bench.q.ack(second) == ["done"]


async def test_a_failure_counts_and_ends_after_max_retries(bench: Bench) -> None:
    await bench.topic(max_retries=3)
    await bench.q.send("work", PriorityMessage("a", 50))
    attempts = []
    while taken := await bench.q.take("work"):
        attempts.append(taken[0].attempt)
        assert await bench.q.nack(taken, error="ValueError", message=f"attempt {len(attempts)}") == ["done"]
    assert attempts == [1, 2, 3, 4]
    (row,) = (await bench.inspector.messages("work", "dead")).rows
    assert (row.failures, row.priority, row.error) == (4, 50, "ValueError: attempt 4")
    (view,) = await bench.inspector.find("work", "a")
    assert view.failure.first_ms <= view.failure.last_ms == row.score_ms
    assert view.states == ("dead",)


async def test_timeouts_count_as_failures(bench: Bench) -> None:
    await bench.topic(max_retries=1, visibility_timeout_ms=TIMEOUT_MS)
    await bench.q.send("work", PriorityMessage("a", 50))
    assert (await bench.take_one()).attempt == 1
    assert (await bench.take_one()).attempt == 2
    assert await bench.q.take("work", timeout_ms=TIMEOUT_MS * 3) == []
    (view,) = await bench.inspector.find("work", "a")
    assert (view.states, view.failure.error, view.failure.failures) == (("dead",), "Timeout", 2)
    assert bench.ledger().stats["expired"] == 2


@pytest.mark.parametrize("kind", QUEUE_KINDS)
async def test_no_retries_means_dead_at_the_first_failure(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind, max_retries=0)
    when = {"due_ms": await bench.now_ms() + SOON_MS} if kind is TopicKind.FIXED_TIME else {}
    await bench.q.send("work", message(kind, "a", **when), allow_past=True)
    await bench.q.nack(await bench.take_one())
    assert bench.ledger().queues["dead"].keys() == {b"a"}


async def test_back_off_doubles_up_to_its_most(bench: Bench) -> None:
    await bench.topic(backoff_ms=FAR_MS, backoff_max_ms=5 * FAR_MS)
    delivery = await send_and_take(bench)
    waits = []
    for _ in range(4):
        await bench.q.nack(delivery)
        (view,) = await bench.inspector.find("work", "a")
        assert view.states == ("retrying",)
        waits.append(view.row.score_ms - view.failure.last_ms)
        assert await bench.q.take("work") == []
        await bench.control.run_now("work", ["a"])
        delivery = await bench.take_one()
    assert waits == [FAR_MS, 2 * FAR_MS, 4 * FAR_MS, 5 * FAR_MS]
    assert delivery.attempt == 5


async def test_a_failed_message_comes_back_when_its_back_off_is_over(bench: Bench) -> None:
    await bench.topic(backoff_ms=SOON_MS, backoff_max_ms=SOON_MS)
    delivery = await send_and_take(bench)
    await bench.q.nack(delivery)
    (view,) = await bench.inspector.find("work", "a")
    again = await bench.take_one()
    assert again.taken_ms >= view.row.score_ms
    assert (again.attempt, again.content) == (2, b"a")


async def test_a_listener_may_ask_for_another_delay(bench: Bench) -> None:
    await bench.topic(backoff_ms=FAR_MS, backoff_max_ms=FAR_MS)
    delivery = await send_and_take(bench)
    await bench.q.nack(delivery, delay_ms=0)
    (delivery,) = await bench.q.take("work")
    await bench.q.nack(delivery, delay_ms=SOON_MS)
    (view,) = await bench.inspector.find("work", "a")
    assert view.row.score_ms - view.failure.last_ms == SOON_MS
    assert (await bench.take_one()).attempt == 3


async def test_reject_is_dead_at_once_with_its_reason(bench: Bench) -> None:
    await bench.topic(max_retries=16)
    await bench.q.reject(await send_and_take(bench), message="no such flight")
    (row,) = (await bench.inspector.messages("work", "dead")).rows
    assert (row.error, row.failures) == ("Reject: no such flight", 1)


async def test_hostile_words_of_a_failure_are_kept_as_text(bench: Bench) -> None:
    await bench.topic()
    hostile = "</script>\x00\ud800 %s %d {}\n" + "x" * 5_000
    await bench.q.nack(await send_and_take(bench), error=hostile, message=hostile, delay_ms=FAR_MS)
    (view,) = await bench.inspector.find("work", "a")
    assert view.failure.message.startswith("</script>\x00")
    assert "%s %d {}\n" in view.failure.message
    assert len(view.failure.message) <= 2_000
    view.failure.message.encode()  # it must be possible to show it
    view.failure.error.encode()


@pytest.mark.parametrize("failures", [0, 2])
async def test_release_does_not_count(bench: Bench, failures: int) -> None:
    await bench.topic(max_retries=2)
    delivery = await send_and_take(bench, priority=77)
    for _ in range(failures):
        await bench.q.nack(delivery)
        delivery = await bench.take_one()
    for delay_ms in (0, 0, 5, 0):
        assert await bench.q.release(delivery, delay_ms=delay_ms) == ["done"]
        delivery = await bench.take_one()
        assert delivery.attempt == failures + 1
    assert delivery.priority == (None if failures else 77)
    assert bench.ledger().stats["released"] == 4
    await bench.q.ack(delivery)


@pytest.mark.parametrize("kind", QUEUE_KINDS)
async def test_what_is_handed_out_again_at_once_has_another_receipt(bench: Bench, kind: TopicKind) -> None:
    """Receipts tell a millisecond, and within one a message can come back and go out more than once."""
    await bench.topic(kind)
    options = {"due_ms": await bench.now_ms()} if kind is TopicKind.FIXED_TIME else {}
    await bench.q.send("work", message(kind, "a", **options))
    receipts, late = set(), None
    for _ in range(40):
        delivery = await bench.take_one()
        receipts.add(delivery.receipt)
        if late is not None:
            assert await bench.q.ack(late) == ["stale"]
        late = delivery
        assert await bench.q.release(delivery) == ["done"]
    assert len(receipts) == 40
    assert max(receipts) // 1_000 <= await bench.now_ms() + 1_000


async def test_one_that_was_extended_and_comes_back_moves_no_receipt_of_others(bench: Bench) -> None:
    await bench.topic(visibility_timeout_ms=30_000)
    await bench.q.send_many("work", [PriorityMessage("other", 20), PriorityMessage("long", 50)])
    delivery = await bench.take_one()
    await bench.q.extend(delivery, for_ms=30_900)
    assert await bench.q.release(delivery) == ["done"]
    for taken in await bench.q.take("work", 2):
        assert taken.taken_ms <= await bench.now_ms() + 1


async def test_release_puts_a_timed_message_back_in_its_place(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    now = await bench.now_ms()
    await bench.q.send("work", FixedTimeMessage("early", now + SOON_MS), allow_past=True)
    await bench.q.send("work", FixedTimeMessage("late", now + SOON_MS + 1), allow_past=True)
    early = await bench.take_one()
    await bench.q.release(early)
    assert early.text == "early"
    again = await bench.take_one()
    assert (again.text, again.due_ms) == ("early", early.due_ms)


async def test_a_released_delivery_waits_as_long_as_asked(bench: Bench) -> None:
    await bench.topic()
    delivery = await send_and_take(bench, priority=77)
    before = await bench.now_ms()
    await bench.q.release(delivery, delay_ms=SOON_MS)
    again = await bench.take_one()
    assert again.taken_ms >= before + SOON_MS
    assert (again.attempt, again.priority) == (1, 77)


async def test_extend_gives_a_new_receipt_and_more_time(bench: Bench) -> None:
    await bench.topic(visibility_timeout_ms=TIMEOUT_MS)
    delivery = await send_and_take(bench)
    old = delivery.receipt
    assert await bench.q.extend(delivery, for_ms=FAR_MS) == ["done"]
    assert delivery.receipt != old
    assert await bench.q.take("work", timeout_ms=TIMEOUT_MS * 2) == []
    new, delivery.receipt = delivery.receipt, old
    assert await bench.q.ack(delivery) == ["stale"]
    delivery.receipt = new
    assert await bench.q.extend(delivery) == ["done"]  # one visibility timeout from now
    assert (await bench.take_one()).attempt == 2


async def test_extending_keeps_the_count_of_failures(bench: Bench) -> None:
    await bench.topic(max_retries=1)
    await bench.q.nack(await send_and_take(bench))
    delivery = await bench.take_one()
    await bench.q.extend(delivery)
    await bench.q.nack(delivery)
    assert bench.ledger().queues["dead"].keys() == {b"a"}


async def test_never_early(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME, name="fixed", slots=4)
    await bench.topic(TopicKind.RANGE_MERGE, name="range", slots=4)
    for i in range(50):
        message = FixedTimeMessage(str(i), await bench.now_ms() + 150 + i * 3)
        await bench.q.send("fixed", message, allow_past=True)  # on a busy machine it may be
        await bench.q.send("range", RangeMergeMessage(str(i), 50 + i * 3))
    for name in ("fixed", "range"):
        taken = []
        while len(taken) < 50:
            some = await bench.q.take(name, 10, timeout_ms=5_000)
            assert some, "all of them must come"
            taken += some
        assert all(d.taken_ms >= d.due_ms for d in taken)
        await bench.q.ack(taken)
        (sample,) = await bench.inspector.sample([name])
        assert sample.lateness.total == 50


async def test_oldest_due_first(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    now = await bench.now_ms()
    messages = [FixedTimeMessage(str(i), now - i * 1000) for i in range(1, 20)]
    await bench.q.send_many("work", messages, allow_past=True)
    assert [int(d.text) for d in await bench.drain()] == list(range(19, 0, -1))


async def test_highest_priority_first_and_retries_get_their_share(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("failed", 1_000))
    await bench.q.nack(await bench.take_one())
    await bench.q.send_many("work", [PriorityMessage(f"{i:03}", 17 + i) for i in range(100)])
    taken = await bench.q.take("work", 20)
    fresh = [d for d in taken if d.attempt == 1]
    assert [d.text for d in taken if d.attempt > 1] == ["failed"]
    assert [d.text for d in fresh] == [f"{i:03}" for i in range(99, 80, -1)]
    await bench.q.ack(taken)
    assert [d.text for d in await bench.drain()] == [f"{i:03}" for i in range(80, -1, -1)]


async def test_deliveries_of_two_topics_are_not_settled_together(bench: Bench) -> None:
    await bench.topic()
    await bench.topic(name="other")
    await bench.q.send("other", PriorityMessage("b", 20))
    mixed = [await send_and_take(bench), *await bench.q.take("other")]
    with pytest.raises(errors.InvalidMessage, match="'b' belongs to topic 'other', not 'work'"):
        await bench.q.ack(mixed)
    assert bench.ledger().queues["prepare"].keys() == {b"a"}
