"""What waits is told from a later message of its id by its place: who has seen one acts on that one."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core import FixedTimeMessage, MessageRef, PriorityMessage, TopicKind, errors
from rmq_core.model.views import MessageRow
from tests.engine.conformance.bench import FAR_MS, Bench

ACTIONS: dict[str, dict[str, Any]] = {"cancel": {}, "run_now": {}, "reschedule": {"priority": 30}}


async def row(bench: Bench) -> MessageRow:
    (view,) = await bench.inspector.find("work", "k")
    return view.row


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("fair", [False, True])
async def test_one_that_was_sent_anew_is_left(bench: Bench, action: str, fair: bool) -> None:
    await bench.topic(fair=fair)
    act, value = getattr(bench.control, action), ACTIONS[action]
    await bench.q.send("work", PriorityMessage("old", 20, key="k"))
    (seen,) = (await bench.inspector.messages("work", "ready")).rows
    assert seen == await row(bench)
    await bench.control.cancel("work", "k")
    await bench.q.send("work", PriorityMessage("new", 20, key="k"))
    await bench.q.send("work", PriorityMessage("other", 20))
    other = MessageRef(0, "other")
    found = await act("work", [seen.ref, other], **value, places={seen.ref: seen.place})
    assert found == [(seen.ref, "moved"), (other, "done")]
    anew = await row(bench)
    await bench.q.send("work", PriorityMessage("merged", 20, key="k"))
    assert await act("work", [seen.ref], **value, places={seen.ref: anew.place}) == [(seen.ref, "done")]
    with pytest.raises(errors.InvalidMessage, match="not named"):
        await act("work", [seen.ref], **value, places={other: 20})


@pytest.mark.parametrize("action", ACTIONS)
async def test_what_fails_or_comes_back_meanwhile_is_the_same(bench: Bench, action: str) -> None:
    await bench.topic(max_retries=3)
    act, value = getattr(bench.control, action), ACTIONS[action]
    await bench.q.send("work", PriorityMessage("a", 20, key="k"))
    fresh = await row(bench)
    await bench.q.release(await bench.take_one())
    assert (await row(bench)).place == fresh.place
    await bench.q.nack(await bench.take_one(), delay_ms=FAR_MS)
    failed = await row(bench)
    assert (failed.state, failed.place) == ("retrying", 0)
    # A new send makes it new, and is no longer what was seen.
    await bench.q.send("work", PriorityMessage("b", 20, key="k"))
    assert await act("work", "k", **value, places={failed.ref: failed.place}) == [(failed.ref, "moved")]
    await bench.q.nack(await bench.take_one(), delay_ms=FAR_MS)
    assert await act("work", "k", **value, places={fresh.ref: fresh.place}) == [(fresh.ref, "done")]


async def test_what_is_delayed_or_held_is_told_too(bench: Bench) -> None:
    await bench.topic(kind=TopicKind.FIXED_TIME)
    due_ms = await bench.now_ms() + FAR_MS
    await bench.q.send("work", FixedTimeMessage("a", due_ms, key="k"))
    seen = await row(bench)
    moved_to = due_ms + FAR_MS
    for act, value in ((bench.control.reschedule, {"due_ms": moved_to}), (bench.control.cancel, {})):
        assert (await act("work", "k", **value, places={seen.ref: due_ms + 1}))[0].status == "moved"
    (moved,) = await bench.control.reschedule("work", "k", due_ms=moved_to, places={seen.ref: seen.place})
    assert (moved.status, (await row(bench)).score_ms) == ("done", moved_to)
    assert (await bench.control.run_now("work", "k", places={seen.ref: seen.place}))[0].status == "moved"
    await bench.control.run_now("work", "k")
    await bench.control.hold("work", id="k")
    assert not await bench.q.take("work")
    held = await row(bench)
    assert held.state == "held" and held.place
    assert (await bench.control.cancel("work", "k", places={held.ref: held.place + 1}))[0].status == "moved"
    assert (await bench.control.cancel("work", "k", places={held.ref: held.place}))[0].status == "done"
