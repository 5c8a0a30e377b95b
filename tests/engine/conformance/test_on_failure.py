"""After a failure the next of that slot basis waits for the retry, or the death; others of the slot go on."""

from __future__ import annotations

import pytest

from rmq_core import PriorityMessage, TopicKind
from rmq_core.errors import InvalidTopic, TooManyHolds
from rmq_core.model.topic import Topic
from rmq_core.protocol.takes import takeover
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import few_servers

pytestmark = few_servers


async def begin(bench: Bench, *names: str, **options: object) -> Topic:
    """Messages of the slot bases that are their first letters, ready in that order."""
    topic = await bench.topic(on_failure="wait", **({"backoff_ms": FAR_MS, "backoff_max_ms": FAR_MS} | options))
    await bench.q.send_many("work", [PriorityMessage(name, 20, key=name, slot_basis=name[0]) for name in names])
    return topic


async def texts(bench: Bench) -> list[str]:
    return [each.text for each in await bench.drain()]


async def test_the_next_of_its_basis_waits_for_its_end_and_others_go_on(bench: Bench) -> None:
    await begin(bench, "a1", "b1", "a2", "b2", "a3")
    await bench.q.nack(await bench.take_one())
    assert await texts(bench) == ["b1", "b2"]
    await bench.q.send("work", "a4", key="a4", priority=900, slot_basis="a")
    assert await texts(bench) == [], "what comes later waits, too"
    (hold,) = await bench.inspector.holds("work")
    assert (hold.of, hold.key, hold.note, hold.held) == ("failure", "a", "a1", 3)
    await bench.control.run_now("work", "a1")
    delivery = await bench.take_one()
    assert (delivery.text, delivery.attempt) == ("a1", 2)
    await bench.q.ack(delivery)
    assert await texts(bench) == ["a4", "a2", "a3"], "each at its place"
    assert await bench.inspector.holds("work") == []


@pytest.mark.parametrize("how", ["dead", "cancelled", "lifted", "dead by a timeout", "merged"])
async def test_they_wait_no_longer_than_it_does(bench: Bench, how: str) -> None:
    await begin(bench, "a1", "a2", "a3", max_retries=1)
    await bench.q.nack(await bench.take_one())
    assert await texts(bench) == []
    if how == "cancelled":
        await bench.control.cancel("work", "a1")
    elif how == "lifted":
        (hold,) = await bench.inspector.holds("work")
        assert await bench.control.lift("work", hold) == (True, 2)
    elif how == "merged":
        await bench.q.send("work", "a1 again", key="a1", priority=20, slot_basis="a")
        assert (await bench.take_one()).id == "a1", "a newer send of it: it is that which they wait for"
        return
    else:
        await bench.control.run_now("work", "a1")
        delivery = await bench.take_one()
        assert await texts(bench) == [], "in flight again"
        await bench.q.nack(delivery)
        assert bench.ledger().stats["died"] == 1
    first = await bench.take_one()  # of one that was cancelled a take hears within a second
    await bench.q.ack(first)
    assert [first.text, *await texts(bench)] == ["a2", "a3"]


async def test_they_wait_for_none_that_has_expired(bench: Bench) -> None:
    await begin(bench)
    for name, expires_ms in (("a1", 300), ("a2", 0)):
        message = PriorityMessage(name, 20, key=name, slot_basis="a", expires_ms=expires_ms)
        await bench.q.send("work", message)
    await bench.q.nack(await bench.take_one())
    assert await texts(bench) == []
    (hold,) = await bench.inspector.holds("work")
    assert hold.of == "failure" and hold.until_ms is not None
    first = await bench.take_one()
    assert (first.text, await bench.inspector.holds("work")) == ("a2", [])


async def test_one_that_names_no_basis_holds_up_nobody(bench: Bench) -> None:
    await begin(bench)
    await bench.q.send("work", "x", priority=20)
    await bench.q.send("work", "y", priority=20)
    await bench.q.nack(await bench.take_one())
    assert await texts(bench) == ["y"] and await bench.inspector.holds("work") == []


async def test_a_release_is_no_failure_and_a_death_of_an_owner_is(bench: Bench) -> None:
    topic = await begin(bench, "a1", "a2", backoff_ms=0)
    await bench.q.release(await bench.take_one())
    assert await bench.inspector.holds("work") == []
    (delivery,) = await bench.q.take("work")
    assert delivery.text == "a1"
    await bench.q.nack(delivery)
    assert [each.text for each in await bench.q.take("work", 5)] == ["a1"]
    await bench.run(takeover(bench.q.keyspace, topic, 0, ""))
    assert [each.text for each in await bench.q.take("work", 5)] == ["a1"]


async def test_a_failure_beyond_the_bound_is_not_waited_for(bench: Bench) -> None:
    """And holds by hand have room beside them."""
    await bench.topic(on_failure="wait", backoff_ms=FAR_MS, backoff_max_ms=FAR_MS)
    await bench.q.send_many(
        "work", [PriorityMessage(f"{n} {k}", 20 - k + 5, slot_basis=f"{n}") for n in range(257) for k in (1, 2)]
    )
    taken = await bench.q.take("work", 257)
    assert all(each.text.endswith(" 1") for each in taken)
    await bench.q.nack(taken)
    assert len(await bench.inspector.holds("work")) == 256
    await bench.control.hold("work", id="nobody")
    assert len(await texts(bench)) == 1
    with pytest.raises(TooManyHolds):
        for n in range(65):
            await bench.control.hold("work", id=f"nobody {n}")


async def test_a_message_says_what_it_waits_for(bench: Bench) -> None:
    await begin(bench, "a1", "a2")
    await bench.q.nack(await bench.take_one())
    await texts(bench)
    why = await bench.inspector.why("work", "a2")
    assert why.reasons[0].code == "behind_failed" and why.reasons[0].values["id"] == "a1"
    assert (await bench.inspector.why("work", "a1")).reasons[0].code == "backing_off"


async def test_streams_have_groups_for_it(bench: Bench) -> None:
    with pytest.raises(InvalidTopic, match="waits=True"):
        Topic("t", TopicKind.STREAM, on_failure="wait")  # type: ignore[arg-type]
    with pytest.raises(InvalidTopic, match="on_failure="):
        Topic("t", TopicKind.PRIORITY, on_failure="perhaps")  # type: ignore[arg-type]
