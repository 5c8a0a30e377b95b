"""The journal as the two clients read it: `rmq.journal(topic)`."""

from __future__ import annotations

import pytest

from rmq_core import AsyncRMQ, errors
from rmq_core.journal.entries import Transition
from rmq_core.journal.reader import Gap, Read
from tests.engine.journal.conftest import Journaled


def test_it_reads_on_and_on(journaled: Journaled) -> None:
    journaled.define(slots=4)
    journaled.send(*"abcdefgh")
    reading = journaled.rmq.journal("work")
    reported = [each for each in reading if isinstance(each, Transition)]
    assert {each.id.decode() for each in reported if each.event == "sent"} == set("abcdefgh")
    assert [each.at_ms for each in reported] == sorted(each.at_ms for each in reported)
    assert list(reading) == []
    journaled.send("i")
    assert [each.id for each in reading.read().transitions] == [b"i"]
    (slot,) = {each.slot for each in reported if each.id == b"a"}
    assert {each.slot for each in journaled.rmq.journal("work", slots=slot)} == {slot}


def test_who_breaks_off_is_told_the_rest(journaled: Journaled) -> None:
    journaled.define()
    journaled.send("a", "b")
    journaled.rmq.ack(journaled.rmq.take("work", 2))  # one entry of two transitions
    reading = journaled.rmq.journal("work", "billing")
    seen: list[tuple[str, bytes]] = []
    for _ in range(10):
        for each in reading:
            assert isinstance(each, Transition)
            seen.append((each.event, each.id))
            if len(seen) in {3, 6}:
                break
        else:
            break
    # What it broke off at is read again, with all of its entry: none is skipped.
    assert seen == [
        ("began", b""), ("sent", b"a"), ("sent", b"b"), ("sent", b"b"), ("taken", b"a"), ("taken", b"b"),
        ("taken", b"a"), ("taken", b"b"), ("acked", b"a"), ("acked", b"b"),
    ]  # fmt: skip


def test_a_durable_one_goes_on_where_it_committed(journaled: Journaled) -> None:
    journaled.define()
    journaled.send(*"abc")
    reading = journaled.rmq.journal("work", "billing")
    assert len(reading.read(2).transitions) == 2
    assert journaled.trim() == 0
    reading.commit()
    assert journaled.trim() == 2
    again = journaled.rmq.journal("work", "billing")
    assert [each.id for each in again if isinstance(each, Transition)] == [b"b", b"c"]
    assert again.forget()
    assert not journaled.rmq.journal("work", "billing").forget()


async def test_it_is_awaited(journaled: Journaled) -> None:
    journaled.define()
    journaled.send(*"abc")
    async with AsyncRMQ(journaled.url, journaled.rmq.keyspace.namespace) as rmq:
        reading = rmq.journal("work", "billing")
        reported = []
        async for each in reading:
            reported.append(each.event if isinstance(each, Transition) else "gap")
            if len(reported) == 2:
                break
        assert reported == ["began", "sent"]
        assert [each.id async for each in reading if isinstance(each, Transition)] == [b"a", b"b", b"c"]
        await reading.commit()
        assert (await rmq.journal("work", "billing").read()).transitions == []
        assert await reading.forget()


def test_what_cannot_be_read_is_refused(journaled: Journaled) -> None:
    journaled.define()
    rmq = journaled.rmq
    with pytest.raises(errors.UnknownTopic):
        rmq.journal("nothing").read()
    for slots in (1, -1, True, [0, "1"]):
        with pytest.raises(errors.InvalidMessage, match="slot="):
            rmq.journal("work", slots=slots).read()  # type: ignore[arg-type]
    for count in (0, True, "1"):
        with pytest.raises(errors.InvalidMessage, match="count="):
            rmq.journal("work").read(count)  # type: ignore[arg-type]
    with pytest.raises(errors.ConfigurationError, match="reader"):
        rmq.journal("work", "a b")
    with pytest.raises(errors.ConfigurationError, match="durable"):
        rmq.journal("work").commit()


def test_a_clock_that_stepped_back_changes_no_order() -> None:
    def at(slot: int, n: int, at_ms: int) -> Transition:
        return Transition("work", slot, f"{n}-0", n, 0, at_ms, "sent", b"", "new", "store", *[None] * 10)

    gap = Gap("work", 0, 1, 3, 40, "missing")
    reported = [at(0, 1, 50), at(0, 3, 40), at(0, 4, 60), at(1, 1, 45), at(1, 2, 55)]
    order = [(each.slot, getattr(each, "n", "gap")) for each in Read(reported, [gap]).in_order()]
    assert order == [(1, 1), (0, 1), (0, "gap"), (0, 3), (1, 2), (0, 4)]
