"""What becomes of a group's entries inside the scripts: failed, released, moved, deleted, trimmed behind it."""

from __future__ import annotations

import pytest

from rmq_core import MessageFilter, MessageRef, StreamMessage, TopicKind, errors
from rmq_core.ops.reaper import reap_overdue
from rmq_core.queries.sampling import SampleCache
from rmq_core.queries.sampling import sample as sample_all
from tests.engine.conformance.bench import Bench
from tests.engine.conformance.conftest import scripts_alone
from tests.engine.conformance.grouped import GROUP, sample, stream, texts

pytestmark = scripts_alone


async def test_what_fails_waits_and_what_fails_too_often_is_dead_in_that_group_alone(bench: Bench) -> None:
    await stream(bench, ("statistics", "mail"), max_retries=1)
    sent = await bench.q.send("events", "a", headers={"h": "1"})
    (first,) = await bench.q.take(GROUP)
    await bench.q.nack(first, error="Boom", message="no", delay_ms=3_600_000)
    assert await bench.q.take(GROUP) == []
    await bench.control.run_now(GROUP, sent)
    (second,) = await bench.q.take(GROUP)
    assert second.attempt == 2
    await bench.q.nack(second, error="Boom", message="again")
    assert await bench.q.take(GROUP) == []
    (dead,) = (await bench.inspector.messages(GROUP, "dead")).rows
    assert (dead.id, dead.preview, dead.error) == (sent.id, b"a", "Boom: again")
    (view,) = await bench.inspector.find(GROUP, sent.id)
    assert (view.content, view.headers, view.states, view.failure.failures) == (b"a", {"h": "1"}, ("dead",), 2)
    (cluster,) = await bench.inspector.dead_clusters(GROUP)
    assert (cluster.error, cluster.count) == ("Boom", 1)
    # It is a copy: the stream may be cut.
    assert (await bench.control.delete_entries("events", [sent]))[0].status == "done"
    assert [each.status for each in await bench.control.requeue(GROUP, sent)] == ["done"]
    (third,) = await bench.q.take(GROUP)
    assert (third.text, third.headers, third.attempt) == ("a", {"h": "1"}, 1)
    await bench.q.reject(third, message="for good")
    assert [each.status for each in await bench.control.drop(GROUP, sent)] == ["done"]
    found, other = await sample(bench), await sample(bench, "events@mail")
    assert (found.dead, found.counters.died, found.counters.requeued, found.trash) == (0, 2, 1, 1)
    assert (other.dead, other.counters.sent, other.lag, other.missed) == (0, 0, 0, 1)


async def test_release_extend_and_a_member_that_died(bench: Bench) -> None:
    await stream(bench, visibility_timeout_ms=10_000)
    await bench.q.send_many("events", [str(n) for n in range(4)])
    one, two = await bench.q.take(GROUP, 2)
    assert await bench.q.extend([two], for_ms=3_600_000) == ["done"]
    assert await bench.q.release(one) == ["done"]
    (again,) = await bench.q.take(GROUP)
    assert (again.text, again.attempt) == ("0", 1)
    await bench.q.extend([again], for_ms=0)
    # What was taken alone and not settled has failed; it is claimed by whoever takes next.
    (back,) = await bench.until(lambda: bench.q.take(GROUP), "the dead member's entry is handed out again")
    assert (back.text, back.attempt) == ("0", 2)
    assert await bench.q.ack(again) == ["stale"]
    assert await bench.q.ack([back, two]) == ["done", "done"]
    assert await texts(bench) == ["2", "3"]


async def test_without_acknowledgements_what_is_handed_out_is_done(bench: Bench) -> None:
    await stream(bench, ())
    await bench.q.define_group("events", "statistics", acks="none")
    await bench.q.send_many("events", [str(n) for n in range(10)])
    taken = await bench.q.take(GROUP, 4)
    found = await sample(bench)
    assert ([each.text for each in taken], found.prepare, found.counters.acked) == (["0", "1", "2", "3"], 0, 4)
    assert await bench.q.ack(taken) == ["done"] * 4
    assert await bench.q.nack(taken[0]) == ["done"]
    assert len(await texts(bench)) == 6
    with pytest.raises(errors.TopicConflict, match="defined with acks=none, durable=True, waits=False; this client"):
        await bench.q.define_group("events", "statistics")


async def test_what_stands_behind_one_that_failed_waits_where_the_group_says_so(bench: Bench) -> None:
    await stream(bench, (), backoff_ms=3_600_000, backoff_max_ms=3_600_000)
    await bench.q.define_group("events", "statistics", waits=True)
    sent = [await bench.q.send("events", str(n)) for n in range(6)]
    taken = await bench.q.take(GROUP, 3)
    assert [each.text for each in taken] == ["0", "1", "2"]
    assert await bench.q.take(GROUP, 3) == []  # somebody is at work
    await bench.q.ack(taken[0])
    await bench.q.nack(taken[1])
    await bench.q.release(taken[2])
    assert await bench.q.take(GROUP, 3) == []  # one has failed
    await bench.control.run_now(GROUP, sent[1])
    taken = await bench.q.take(GROUP, 3)
    assert [(each.text, each.attempt) for each in taken] == [("1", 2), ("2", 1), ("3", 1)]
    await bench.q.reject(taken[0])
    await bench.q.ack(taken[1:])
    assert await texts(bench) == ["4", "5"]


async def test_the_keeper_puts_back_what_nobody_looks_after(bench: Bench) -> None:
    await stream(bench, visibility_timeout_ms=100)
    await bench.q.send_many("events", ["a", "b"])
    (one,) = await bench.q.take(GROUP)
    run, spread = bench.q.run, bench.q.target.is_cluster

    async def reaped() -> dict[str, int]:
        samples = await run(sample_all(bench.q.keyspace, SampleCache(), spread, groups=True))
        return await run(reap_overdue(bench.q.keyspace, samples, 0))

    assert await bench.until(reaped, "the timeout") == {GROUP: 1}
    assert await bench.q.ack(one) == ["stale"]
    assert await texts(bench) == ["a", "b"]


async def test_a_copy_that_is_requeued_waits_for_the_end_of_the_one_in_flight(bench: Bench) -> None:
    await stream(bench)
    sent = await bench.q.send("events", "a")
    await bench.q.reject(await bench.q.take(GROUP))
    await bench.control.set_position(GROUP, "start")
    (again,) = await bench.q.take(GROUP)  # what is dead is handed out again behind a new position
    assert [each.status for each in await bench.control.requeue(GROUP, sent)] == ["done"]
    assert await bench.q.take(GROUP, 10) == []
    found = await sample(bench)
    assert (found.prepare, found.backlog, found.ledger_gap) == (1, 1, 0)
    assert await bench.q.ack(again) == ["done"]
    assert await texts(bench) == ["a"]
    assert (await sample(bench)).ledger_gap == 0


async def test_what_operators_move_keeps_the_order_of_the_stream(bench: Bench) -> None:
    await stream(bench, backoff_ms=0)
    sent = [await bench.q.send("events", str(n)) for n in range(4)]
    taken = await bench.q.take(GROUP, 4)
    await bench.q.release(taken[2], delay_ms=3_600_000)
    await bench.q.release([taken[0], taken[1], taken[3]])
    await bench.control.cancel(GROUP, sent[1])
    await bench.control.restore(GROUP, sent[1])
    await bench.control.reschedule(GROUP, sent[0], due_ms=await bench.now_ms() + 3_600_000)
    assert [each.id for each in (await bench.inspector.messages(GROUP, "retrying")).rows] == [sent[2].id, sent[0].id]
    assert [each.status for each in await bench.control.run_now(GROUP, [sent[2], sent[0], sent[3]])] == ["done"] * 3
    assert await texts(bench) == ["0", "1", "2", "3"]


async def test_the_lag_is_seen_though_all_that_was_read_is_under_way(bench: Bench) -> None:
    await stream(bench)
    await bench.q.send_many("events", ["a", "b"])
    taken = await bench.q.take(GROUP, 2)
    await bench.control.set_position(GROUP, "start")
    assert (await sample(bench)).lag == 2
    assert await bench.q.take(GROUP, 2) == []
    assert (await sample(bench)).lag == 0
    await bench.q.ack(taken)


async def test_what_was_deleted_neither_stays_pending_nor_counts_as_lag(bench: Bench) -> None:
    """Redis issues 10756 and 6199; 13337 and 13338."""
    await stream(bench)
    sent = [await bench.q.send("events", str(n)) for n in range(10)]
    taken = await bench.q.take(GROUP, 4)
    await bench.q.release(taken[2:])
    results = await bench.control.delete_entries("events", [sent[1], sent[2], sent[5], sent[6], sent[9]])
    assert [each.status for each in results] == ["done"] * 5
    found = await sample(bench)
    assert (found.lag, found.missed) == (3, 3)
    await bench.q.nack(taken[1], delay_ms=0)  # its content is gone, too
    assert await bench.q.ack(taken[0]) == ["done"]
    assert await texts(bench) == ["3", "4", "7", "8"]
    found = await sample(bench)
    assert (found.lag, found.prepare, found.counters.cancelled) == (0, 0, 2)


async def test_what_died_after_its_entry_was_deleted_cannot_be_brought_back(bench: Bench) -> None:
    await stream(bench, max_retries=0)
    kept, lost = [await bench.q.send("events", text) for text in ("kept", "lost")]
    first, second = await bench.q.take(GROUP, 2)
    await bench.q.reject(first)
    await bench.control.delete_entries("events", [kept, lost])
    await bench.q.reject(second, message="Boom")
    assert [each.status for each in await bench.control.requeue(GROUP, [kept, lost])] == ["done", "gone"]
    assert await texts(bench) == ["kept"]
    result = await bench.control.requeue_matching(GROUP, MessageFilter("dead"))
    assert (result.done, result.gone, result.complete) == (0, 1, True)
    (dead,) = (await bench.inspector.messages(GROUP, "dead")).rows
    assert (dead.id, dead.error) == (lost.id, "Reject: Boom")  # why it failed can be read still
    # Nor moved, where it would be an empty entry.
    await bench.topic(TopicKind.STREAM, "parking")
    (refused,) = await bench.control.plan_redrive(GROUP, lost, "parking")
    assert refused.status == "refused" and "deleted" in refused.reason
    with pytest.raises(errors.InvalidMessage, match="deleted"):
        await bench.control.redrive(GROUP, lost, "parking")
    for action in (bench.control.drop, bench.control.restore, bench.control.drop):
        assert [each.status for each in await action(GROUP, lost)] == ["done"]
    found = await sample(bench)
    assert (found.lag, found.dead, found.counters.requeued, found.counters.cancelled) == (0, 0, 1, 0)


async def test_what_was_cancelled_after_its_entry_was_deleted_stays_in_the_trash(bench: Bench) -> None:
    await stream(bench)
    sent = await bench.q.send("events", "a")
    await bench.q.nack(await bench.q.take(GROUP), delay_ms=3_600_000)
    await bench.control.delete_entries("events", [sent])
    assert [each.status for each in await bench.control.cancel(GROUP, sent)] == ["done"]
    assert [each.status for each in await bench.control.restore(GROUP, sent)] == ["gone"]
    found = await sample(bench)
    assert (found.trash, found.counters.cancelled, found.counters.restored) == (1, 1, 0)


@pytest.mark.parametrize("trim", ["exact", "nearly"])
async def test_trimming_waits_for_durable_groups(bench: Bench, trim: str) -> None:
    topic = await stream(bench, max_length=10, trim=trim)
    await bench.q.define_group("events", "cache", durable=False)
    await bench.q.send_many("events", [str(n) for n in range(500)])
    taken = await bench.q.take(GROUP, 300)
    await bench.q.ack(taken[:250])
    assert (
        await bench.control.trim("events") == (await sample(bench, "events")).counters.trimmed - 0 or trim == "nearly"
    )
    length = (await sample(bench, "events")).length
    assert length == 250 if trim == "exact" else 250 <= length <= 350
    await bench.q.nack(taken[250], delay_ms=3_600_000)
    await bench.q.ack(taken[251:])
    await bench.q.send("events", "more")
    assert (await sample(bench, "events")).length >= 251  # the failed one is still to come
    assert (await sample(bench)).lag == 201
    cache = await sample(bench, "events@cache")
    assert (cache.lag, cache.missed) == ((await sample(bench, "events")).length, 501 - cache.lag)
    # Unless the topic says otherwise: then the group misses what it has not read, and is told so.
    await bench.redefine(topic, trim_unread=True, trim="exact")
    await bench.control.trim("events")
    found = await sample(bench)
    assert ((await sample(bench, "events")).length, found.lag, found.missed) == (10, 10, 191)
    await bench.control.run_now(GROUP, taken[250])
    assert await texts(bench) == [*(str(n) for n in range(491, 500)), "more"]
    assert (await sample(bench)).counters.cancelled == 1  # what it waited for is gone


async def test_trimming_by_age_waits_for_durable_groups(bench: Bench) -> None:
    await stream(bench, max_age_ms=1_000, trim="exact")
    old = [StreamMessage(str(n), id=f"{n + 1}-0") for n in range(10)]
    await bench.q.send_many("events", old)
    taken = await bench.q.take(GROUP, 5)
    await bench.q.ack(taken[1:])
    assert await bench.control.trim("events") == 0
    await bench.q.ack(taken[0])
    await bench.control.trim("events")
    assert (await sample(bench, "events")).length == 6  # the entry it stands behind, and what is ahead
    assert await texts(bench) == [str(n) for n in range(5, 10)]


@pytest.mark.parametrize("bound", [{"max_age_ms": 1_000}, {"max_length": 1}])
async def test_trimming_waits_for_what_is_read_again(bench: Bench, bound: dict[str, int]) -> None:
    topic = await stream(bench, trim="exact")
    await bench.q.send_many("events", [StreamMessage(str(n), id=f"{n + 1}-0") for n in range(6)])
    taken = await bench.q.take(GROUP, 6)
    await bench.q.ack(taken[:2])
    await bench.control.delete_entries("events", [MessageRef(0, "4-0"), MessageRef(0, "6-0")])
    await bench.control.set_position(GROUP, "start")
    await bench.redefine(topic, **bound)
    assert await bench.control.trim("events") == 0
    again = await bench.q.take(GROUP, 2)
    await bench.q.ack(again[0])
    await bench.control.trim("events")
    assert [entry.id for entry in (await bench.q.read("events")).entries] == ["2-0", "3-0", "5-0"]
    await bench.q.ack([again[1], *taken[2:]])
    await bench.control.trim("events")
    assert (await sample(bench)).missed == 0


@pytest.mark.parametrize("ident", ["odd", "1-", "-", "+", "1-2-3", f"{2**64}-1", f"1-{2**64}", "%ff", "$"])
async def test_of_an_id_that_no_entry_can_have_nothing_is_known(bench: Bench, ident: str) -> None:
    await stream(bench, ("statistics",))
    await bench.q.send("events", "a")
    assert await bench.inspector.find(GROUP, ident) == []
    assert await bench.q.report(GROUP, ident) is None
    assert (await bench.inspector.why(GROUP, ident)).reasons[0].code == "gone"
    for act in (bench.control.requeue, bench.control.drop, bench.control.run_now, bench.control.cancel):
        assert [each.status for each in await act(GROUP, ident)] == ["not_found"]
