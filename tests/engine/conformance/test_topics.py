"""Definitions: declared by applications, edited by operators, deleted without a trace."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rmq_core import FixedTimeMessage, PriorityMessage, RangeMergeMessage, Topic, TopicKind, errors
from rmq_core.model.topic import QUEUE_KINDS
from tests.engine.conformance.bench import FAR_MS, Bench, message
from tests.support.keys import keys_of

MINE = Topic("work", TopicKind.PRIORITY, slots=4, description="größer ✈", weight=3)


async def test_a_definition_is_stored_once_and_then_taken_over(bench: Bench) -> None:
    stored = await bench.q.define(MINE)
    assert stored == replace(MINE, version=1, updated_ms=stored.updated_ms, created_ms=stored.created_ms)
    assert stored.created_ms == stored.updated_ms
    assert stored.same_definition(MINE)
    assert abs(await bench.now_ms() - stored.updated_ms) < FAR_MS
    edited = await bench.redefine(stored, weight=9)
    # An application that starts again must not undo the operator's edit.
    assert await bench.q.define(MINE) == edited
    assert (edited.version, edited.weight) == (2, 9)
    assert await bench.inspector.topics() == [edited]


@pytest.mark.parametrize("change", [{"slots": 8}, {"kind": TopicKind.FIXED_TIME}])
async def test_another_shape_of_the_same_name_is_refused(bench: Bench, change: dict[str, object]) -> None:
    stored = await bench.q.define(MINE)
    other = replace(MINE, **change)
    with pytest.raises(errors.TopicConflict, match="'work' is defined with kind=priority, slots=4"):
        await bench.q.define(other)
    with pytest.raises(errors.TopicConflict):
        await bench.control.put_topic(other, stored.version)
    assert await bench.inspector.topics() == [stored]


async def test_of_two_edits_from_the_same_version_one_wins(bench: Bench) -> None:
    stored = await bench.q.define(MINE)
    winner = await bench.redefine(stored, weight=5)
    with pytest.raises(errors.VersionConflict, match="stored version 2"):
        await bench.redefine(stored, weight=7)
    with pytest.raises(errors.VersionConflict):
        await bench.control.put_topic(MINE, 0)
    assert await bench.inspector.topics() == [winner]
    with pytest.raises(errors.UnknownTopic):
        await bench.control.put_topic(replace(MINE, name="other"), 3)


async def test_a_paused_topic_takes_sends_and_gives_nothing(bench: Bench) -> None:
    await bench.q.define(MINE)
    await bench.q.send("work", PriorityMessage("before", 20))
    assert (await bench.control.pause("work")).paused
    assert (await bench.control.pause("work")).version == 2
    await bench.q.send("work", PriorityMessage("after", 20))
    assert await bench.q.take("work", 10) == []
    assert await bench.q.take("work", 10, timeout_ms=50) == []
    assert not (await bench.control.resume("work")).paused
    assert sorted(d.text for d in await bench.drain()) == ["after", "before"]


async def test_deliveries_taken_before_a_pause_can_be_settled(bench: Bench) -> None:
    await bench.q.define(MINE)
    await bench.q.send("work", PriorityMessage("a", 20))
    delivery = await bench.take_one()
    await bench.control.pause("work")
    assert await bench.q.ack(delivery) == ["done"]


async def test_an_edit_reaches_a_client_that_remembers_the_topic(bench: Bench) -> None:
    stored = await bench.q.define(replace(MINE, max_retries=0))
    other = await bench.redefine(stored, max_retries=5)
    assert await bench.q.topic("work") == other


async def test_a_topic_with_messages_is_deleted_only_by_force(bench: Bench) -> None:
    for kind in QUEUE_KINDS:
        await bench.q.define(Topic(kind.value, kind, slots=4))
    now = await bench.now_ms()
    await bench.q.send("fixed-time", FixedTimeMessage("x", now + FAR_MS))
    await bench.q.send("range-merge", RangeMergeMessage("x", FAR_MS))
    await bench.q.send("priority", PriorityMessage("x", 20))
    await bench.q.reject(await bench.take_one("priority"))
    for kind in QUEUE_KINDS:
        with pytest.raises(errors.TopicNotEmpty, match=r"holds 1 message\(s\)"):
            await bench.control.delete_topic(kind.value)
        assert await bench.control.delete_topic(kind.value, force=True) == 1
        with pytest.raises(errors.UnknownTopic):
            await bench.q.send(kind.value, PriorityMessage("x", 20))
    assert keys_of(bench.raw, bench.namespace) == []


@pytest.mark.parametrize("kind", QUEUE_KINDS)
async def test_a_deleted_topic_leaves_no_key(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind, slots=2)
    now = await bench.now_ms()
    for i in range(20):
        when = {"due_ms": now} if kind is TopicKind.FIXED_TIME else {}
        options = {"allow_past": True} if when else {}
        await bench.q.send("work", message(kind, f"{i}", headers={"a": "b"} if i % 2 else None, **when), **options)
    for settle in ("ack", "nack", "reject", "release", "extend"):
        await getattr(bench.q, settle)(await bench.take_one())
    await bench.control.pause("work")
    await bench.inspector.sample()
    await bench.control.delete_topic("work", force=True)
    assert keys_of(bench.raw, bench.namespace) == []


async def test_a_topic_may_be_defined_anew_in_another_shape(bench: Bench) -> None:
    await bench.q.define(MINE)
    await bench.q.send("work", PriorityMessage("a", 20))
    (before,) = await bench.inspector.sample()
    assert before.backlog == 1
    await bench.control.delete_topic("work", force=True)
    assert await bench.inspector.sample() == []
    await bench.q.define(replace(MINE, kind=TopicKind.RANGE_MERGE, slots=2))
    await bench.q.send("work", RangeMergeMessage("b", 1))
    assert (await bench.take_one()).text == "b"
    (after,) = await bench.inspector.sample()
    assert (len(after.slots), after.backlog, after.prepare) == (2, 0, 1)


async def test_a_topic_defined_anew_is_pictured_anew(bench: Bench) -> None:
    """Counters that look as before must not be taken for no change."""
    now = await bench.now_ms()
    for due_ms in (now + FAR_MS, now + FAR_MS * 2):
        await bench.topic(TopicKind.FIXED_TIME)
        await bench.q.send("work", FixedTimeMessage("a", due_ms))
        (sample,) = await bench.inspector.sample()
        assert [slot.next_due_ms for slot in sample.slots] == [due_ms]
        if due_ms == now + FAR_MS:
            await bench.control.delete_topic("work", force=True)
