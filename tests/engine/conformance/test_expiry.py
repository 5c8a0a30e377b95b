"""What is not delivered in time expires: it is never handed out, it is counted, and the journal tells it."""

from __future__ import annotations

import re

import pytest

from rmq_core import DelayedMessage, PriorityMessage, RangeMergeMessage, Target, TopicKind
from rmq_core.errors import InvalidMessage, InvalidTopic
from rmq_core.model.topic import Topic
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import few_servers
from tests.engine.conformance.routing import Running, routed

SHORT_MS = 30

pytestmark = few_servers


async def gone_by(bench: Bench, ms: int = SHORT_MS) -> None:
    """Waits until that time has passed on the server."""
    end = await bench.now_ms() + ms

    async def over() -> bool:
        return bool(await bench.now_ms() > end)

    await bench.until(over, "the time to pass")


def make_late(bench: Bench, ident: str) -> None:
    """As if its time had passed by now, wherever its body is. A full journal would say what the body was."""
    for pool in ("body", "replaced", "dead_record", "trashed"):
        key = f"{pool}{{{bench.namespace}:work_0}}"
        if (held := bench.raw.hget(key, ident)) is not None:
            bench.raw.hset(key, ident, re.sub(rb"\x03e(\d+)", lambda at: b"\x03e" + b"1".zfill(len(at[1])), held))


def lapsed(bench: Bench) -> int:
    return bench.ledger().stats.get("lapsed", 0)


@pytest.mark.parametrize("kind", [TopicKind.PRIORITY, TopicKind.RANGE_MERGE, TopicKind.FIXED_TIME])
async def test_what_is_late_is_never_delivered(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind, journal="full")
    when = {"priority": 20} if kind is TopicKind.PRIORITY else {"range_ms": 1}
    if kind is TopicKind.FIXED_TIME:
        when = {"in_ms": 0}
    await bench.q.send("work", "late", **when, expires_ms=SHORT_MS)
    await bench.q.send("work", "patient", **when, expires_ms=FAR_MS)
    await bench.q.send("work", "eternal", **when)
    await gone_by(bench)
    assert {each.text for each in await bench.drain()} == {"patient", "eternal"}
    assert lapsed(bench) == 1


async def test_it_counts_from_when_it_is_due(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    now = await bench.now_ms()
    await bench.q.send("work", "a", at=now + FAR_MS, expires_ms=1)
    await bench.q.send("work", "b", in_ms=SHORT_MS, expires_ms=FAR_MS)
    (view,) = await bench.inspector.find("work", "a")
    assert view.expires_at_ms == now + FAR_MS + 1
    delivery = await bench.take_one()
    assert (delivery.text, delivery.expires_at_ms) == ("b", delivery.due_ms + FAR_MS)


async def test_a_topic_has_a_default_which_messages_overrule(bench: Bench) -> None:
    await bench.topic(expires_ms=SHORT_MS)
    await bench.q.send_many("work", [PriorityMessage("a", 20), PriorityMessage("b", 20, expires_ms=0)])
    await bench.q.send("work", "c", priority=20)
    await gone_by(bench)
    assert [each.text for each in await bench.drain()] == ["b"]
    assert lapsed(bench) == 2


async def test_a_failed_one_is_not_tried_again_after_its_time(bench: Bench) -> None:
    await bench.topic(journal="events", backoff_ms=SHORT_MS, backoff_max_ms=SHORT_MS)
    await bench.q.send("work", "a", key="k", priority=20, expires_ms=FAR_MS)
    delivery = await bench.take_one()
    make_late(bench, "k")
    assert await bench.q.nack(delivery, error="E", message="failed late") == ["done"], "it was delivered in time"
    assert bench.ledger().queues["retry"], "it waits for its back-off like any other"
    await gone_by(bench)
    assert await bench.drain() == []
    assert lapsed(bench) == 1


async def test_acts_on_a_late_one_do_not_bring_it_back(bench: Bench) -> None:
    await bench.topic(max_retries=0, journal="events")
    await bench.q.send("work", "dead", priority=20, expires_ms=FAR_MS)
    await bench.q.send("work", "removed", priority=19, expires_ms=FAR_MS)
    await bench.q.nack(await bench.take_one(), error="E", message="dies")
    await bench.control.cancel("work", "removed")
    for ident in ("dead", "removed"):
        make_late(bench, ident)
    for act, ident in ((bench.control.requeue, "dead"), (bench.control.restore, "removed")):
        assert [each.status for each in await act("work", [ident, "none"])] == ["expires_first", "not_found"]
    assert not bench.ledger().queues["store"], "else they were gone, and nobody had been told"
    assert (bench.ledger().queues["dead"].keys(), bench.ledger().trash.keys()) == ({b"dead"}, {b"removed"})
    await bench.control.drop("work", "dead")
    assert [each.status for each in await bench.control.restore("work", "dead")] == ["done"], "it is dead again"
    assert (await bench.drain(), lapsed(bench)) == ([], 0)


@pytest.mark.parametrize("kind", [TopicKind.RANGE_MERGE, TopicKind.FIXED_TIME])
@pytest.mark.parametrize("failed", [False, True])
async def test_none_is_put_off_beyond_its_time(bench: Bench, kind: TopicKind, failed: bool) -> None:
    await bench.topic(kind, journal="full", backoff_ms=FAR_MS, backoff_max_ms=FAR_MS)
    wait_ms = 1 if failed else FAR_MS
    when = {"in_ms": wait_ms} if kind is TopicKind.FIXED_TIME else {"range_ms": wait_ms}
    now = await bench.now_ms()
    await bench.q.send("work", "a", key="k", **when, expires_ms=3 * FAR_MS)
    if failed:
        await bench.q.nack(await bench.take_one(), error="E", message="once")
    (seen,) = await bench.inspector.find("work", "k")
    assert seen.expires_at_ms
    before = bench.ledger().queues
    for due_ms in (seen.expires_at_ms, now + 9 * FAR_MS):
        assert [each.status for each in await bench.control.reschedule("work", "k", due_ms=due_ms)] == ["expires_first"]
    assert bench.ledger().queues == before
    (result,) = await bench.control.reschedule("work", "k", due_ms=seen.expires_at_ms - 1)
    assert result.status == "done"


async def test_a_late_one_gets_no_other_priority(bench: Bench) -> None:
    await bench.topic(journal="events")
    await bench.q.send("work", "late", priority=20, expires_ms=FAR_MS)
    await bench.q.send("work", "fresh", priority=20, expires_ms=FAR_MS)
    make_late(bench, "late")
    results = await bench.control.reschedule("work", ["late", "fresh"], priority=30)
    assert [each.status for each in results] == ["expires_first", "done"]


async def test_a_late_one_is_moved_to_no_queue_but_to_a_stream(bench: Bench) -> None:
    await bench.topic(name="work", max_retries=0, journal="events")
    await bench.topic(TopicKind.FIXED_TIME, name="later")
    await bench.topic(TopicKind.STREAM, name="kept")
    await bench.q.send_many("work", [PriorityMessage(each, 20, expires_ms=FAR_MS) for each in ("late", "fresh")])
    await bench.q.nack(await bench.q.take("work", 10), error="E", message="dies")
    make_late(bench, "late")
    for target, told in ((Target("later", in_ms=2 * FAR_MS), ["expires_first"] * 2), ("kept", ["done"] * 2)):
        planned = await bench.control.plan_redrive("work", ["late", "fresh"], target)
        assert [each.status for each in planned] == told
    refs = ["late", "fresh", "late", "none"]
    told = ["expires_first", "done", "expires_first", "not_found"]
    assert [each.status for each in await bench.control.redrive("work", refs, "later")] == told
    assert bench.ledger().queues["dead"].keys() == {b"late"}


async def test_nothing_merges_into_a_late_one(bench: Bench) -> None:
    await bench.topic(merge="first", journal="full")
    await bench.q.send("work", "old", key="k", priority=20, version=5, expires_ms=SHORT_MS)
    await gone_by(bench)
    sent = await bench.q.send("work", "new", key="k", priority=20)
    assert sent.merged is False
    assert [each.text for each in await bench.drain()] == ["new"]
    assert lapsed(bench) == 1


async def test_a_plain_one_does_not_merge_into_a_late_one_either(bench: Bench) -> None:
    await bench.topic(merge="first", journal="events")
    await bench.q.send("work", "same", priority=20, expires_ms=SHORT_MS)
    await gone_by(bench)
    assert (await bench.q.send("work", "same", priority=20)).merged is False
    assert [each.text for each in await bench.drain()] == ["same"]
    assert lapsed(bench) == 1


@pytest.mark.parametrize("kind", [TopicKind.RANGE_MERGE, TopicKind.PRIORITY])
async def test_a_duplicate_brings_its_own_time(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind)
    made = PriorityMessage if kind is TopicKind.PRIORITY else RangeMergeMessage
    await bench.q.send("work", made("a", 20, expires_ms=FAR_MS))
    await bench.q.send("work", made("a", 20, expires_ms=SHORT_MS))
    await gone_by(bench, SHORT_MS + 20)
    assert (await bench.drain(), lapsed(bench)) == ([], 1)


@pytest.mark.parametrize("limits", [{}, {"max_backlog": 9}])
async def test_a_duplicate_does_not_expire_before_the_one_it_merged_into_is_due(
    bench: Bench, limits: dict[str, int]
) -> None:
    await bench.topic(TopicKind.RANGE_MERGE, **limits)
    before = await bench.now_ms()
    await bench.q.send("work", RangeMergeMessage("first", FAR_MS, key="k"))
    await bench.q.send("work", RangeMergeMessage("second", 1, key="k", expires_ms=SHORT_MS))
    (view,) = await bench.inspector.find("work", "k")
    assert view.content == b"second" and view.expires_at_ms >= before + FAR_MS + SHORT_MS


async def test_the_one_in_flight_may_be_late_while_its_duplicate_is_not(bench: Bench) -> None:
    await bench.topic(journal="events")
    await bench.q.send("work", "first", key="k", priority=20, expires_ms=FAR_MS)
    delivery = await bench.take_one()
    await bench.q.send("work", "second", key="k", priority=20)
    make_late(bench, "k")
    assert await bench.q.release(delivery) == ["done"], "it merges into the one that waits"
    assert [each.text for each in await bench.drain()] == ["second"]
    assert lapsed(bench) == 0


async def test_a_take_ends_a_bounded_number_and_goes_on_at_once(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send_many("work", [PriorityMessage(f"late-{n}", 20, expires_ms=1) for n in range(250)])
    await bench.q.send("work", "fresh", priority=17)
    await gone_by(bench, 2)
    taken = await bench.q.take("work", timeout_ms=5_000)
    assert [each.text for each in taken] == ["fresh"]
    assert lapsed(bench) == 250


async def test_a_limited_topic_has_it_too(bench: Bench) -> None:
    await bench.topic(max_backlog=1)
    await bench.q.send("work", "a", priority=20, expires_ms=SHORT_MS)
    await gone_by(bench)
    assert await bench.drain() == []
    assert (await bench.q.send("work", "b", priority=20)).merged is False


async def test_a_route_takes_its_time_along_or_that_of_the_target(bench: Bench) -> None:
    await bench.topic(name="source")
    await bench.topic(expires_ms=FAR_MS)
    route = await routed(bench, Target("work", priority=30))
    before = await bench.now_ms()
    await bench.q.send("source", "own", priority=20, expires_ms=2 * FAR_MS)
    await bench.q.send("source", "none", priority=20)
    await Running(bench, route).all()
    ends = {each.text: each.expires_at_ms - before for each in await bench.drain()}
    assert FAR_MS <= ends["none"] < 2 * FAR_MS <= ends["own"] < 3 * FAR_MS


async def test_wrong_values_are_refused(bench: Bench) -> None:
    for wrong in (-1, 1.5, True, "1", 10**15):
        with pytest.raises(InvalidMessage, match="expires_ms="):
            DelayedMessage("a", 0, expires_ms=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidTopic, match="expires_ms=5"):
        Topic("entries", TopicKind.STREAM, expires_ms=5)
