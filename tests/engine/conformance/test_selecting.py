"""Selecting by filter, on every client and deployment."""

from __future__ import annotations

import json

import pytest

from rmq_core import FixedTimeMessage, MessageFilter, PriorityMessage, TopicKind, errors
from rmq_core.model.fingerprints import fingerprint
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.test_controlling import KINDS, Scene


@pytest.mark.parametrize("kind", KINDS)
async def test_each_state_selects_its_messages(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind)
    scene = Scene(bench, kind)
    await scene.build()
    for state in ("delayed", "ready", "retrying", "dead"):
        expected = [] if state == "delayed" and kind is TopicKind.PRIORITY else [state]
        wanted = MessageFilter(state)
        found = await bench.inspector.select("work", wanted)
        assert [row.id for row in found.rows] == expected
        assert (found.looked_at, found.total, found.next_cursor) == (len(expected), len(expected), None)
        assert [ref.id for ref in (await bench.inspector.select_refs("work", wanted)).refs] == expected
        seen = await bench.inspector.preview("work", MessageFilter(state, text=state[:3]))
        assert (seen.count, seen.exact, [row.id for row in seen.examples]) == (len(expected), True, expected)


async def test_a_cluster_is_requeued_in_batches_while_letters_die_again(bench: Bench) -> None:
    await bench.topic(slots=4, max_retries=0)
    await bench.q.send_many("work", [PriorityMessage(f"m{i}", 20) for i in range(60)])
    deliveries = await bench.q.take("work", 100)
    await bench.q.nack(deliveries[:40], error="IOError", message="no answer after 7 s")
    await bench.q.nack(deliveries[40:], error="Other", message="7")
    wanted = MessageFilter("dead", fingerprint=fingerprint("IOError", "no answer after 0 s"))
    seen = await bench.inspector.preview("work", wanted)
    assert (seen.count, seen.exact, seen.total, len(seen.examples)) == (40, True, 60, 5)
    last_ms = max(row.score_ms for row in (await bench.inspector.messages("work", "dead", limit=100)).rows)

    async def later() -> bool:
        return await bench.now_ms() > last_ms

    await bench.until(later, "a millisecond to go by")
    done, cursor = 0, None
    while True:
        found = await bench.inspector.select_refs("work", wanted, cursor, scan=7)
        results = await bench.control.requeue("work", found.refs)
        done += sum(result.status == "done" for result in results)
        again = await bench.q.take("work", 100)
        await bench.q.nack(again, error="IOError", message="no answer after 8 s")
        cursor = found.next_cursor
        if cursor is None:
            break
    assert done == 40
    assert (await bench.inspector.preview("work", wanted)).count == 40


async def test_a_failure_is_found_by_its_words(bench: Bench) -> None:
    await bench.topic()
    for ident, error, text in (("a", "IOError", "disk full"), ("b", "TypeError", "disk IOError"), ("c", "X", "else")):
        await bench.q.send("work", PriorityMessage(ident, 20))
        await bench.q.nack(await bench.take_one(), error=error, message=text, delay_ms=FAR_MS)
    for words, expected in (("IOError", {"a", "b"}), ("disk f", {"a"}), ("else", {"c"}), ("ioerror", set())):
        found = await bench.inspector.select("work", MessageFilter("retrying", error=words))
        assert {row.id for row in found.rows} == expected
    found = await bench.inspector.select("work", MessageFilter("retrying", fingerprint=fingerprint("X", "else")))
    assert [row.id for row in found.rows] == ["c"]


async def test_contents_are_compared(bench: Bench) -> None:
    await bench.topic(slots=4)
    contents = {"small": {"order": {"total": 20}}, "large": {"order": {"total": 300}}, "other": [300]}
    for ident, content in contents.items():
        await bench.q.send("work", PriorityMessage(json.dumps(content), 20, key=ident))
    await bench.q.send("work", PriorityMessage("no JSON > 100", 20, key="words"))
    await bench.q.send("work", PriorityMessage('{"order":{"total":500}}', 20))  # its id is its content
    over = "order.total > 100"
    found = await bench.inspector.search("work", where=over)
    assert {row.id for row in found.rows} == {"large", '{"order":{"total":500}}'}
    assert (found.looked_at, found.total, found.not_json) == (5, 5, 1)
    found = await bench.inspector.search("work", "large", where=over)
    assert ([row.id for row in found.rows], found.not_json) == (["large"], 0)
    assert (await bench.inspector.preview("work", MessageFilter("ready", where=over))).count == 2
    found = await bench.inspector.select("work", MessageFilter("ready", where=over, text="order"))
    assert len(found.rows) == 2
    refs = (await bench.inspector.select_refs("work", MessageFilter("ready", where="$[?@ == 300]"))).refs
    assert [ref.id for ref in refs] == ["other"]
    await bench.control.cancel("work", ["large", "small"])
    trash = await bench.inspector.select("work", MessageFilter("trash", where=over))
    assert [row.id for row in trash.rows] == ["large"]


async def test_all_messages_of_one_tenant(bench: Bench) -> None:
    await bench.topic(slots=4)
    for tenant in ("acme", "acme ltd", ""):
        await bench.q.send_many("work", [PriorityMessage(f"{tenant} {n}", 20, tenant=tenant) for n in range(3)])
    await bench.q.nack(await bench.take_one(), error="E", message="m", delay_ms=FAR_MS)
    counts = await bench.inspector.preview("work", MessageFilter("ready", tenant="acme ltd"))
    assert counts.exact
    done = [
        (await bench.control.cancel_matching("work", MessageFilter(state, tenant="acme"))).done
        for state in ("ready", "retrying")
    ]
    assert sum(done) == 3
    left = (await bench.inspector.select("work", MessageFilter("ready"))).rows
    assert not {row.id for row in left} & {f"acme {n}" for n in range(3)}
    restored = await bench.control.restore_matching("work", MessageFilter("trash", tenant="acme"))
    assert restored.done == 3
    assert (await bench.control.restore_matching("work", MessageFilter("trash"))).done == 0
    nobodys = await bench.control.cancel_matching("work", MessageFilter("ready", tenant=""))
    assert nobodys.done == 3 - (await bench.inspector.preview("work", MessageFilter("retrying", tenant=""))).count
    assert (await bench.inspector.preview("work", MessageFilter("trash", tenant=""))).count == nobodys.done


async def test_times_bound_what_is_due(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME, slots=4)
    base = await bench.now_ms() + FAR_MS
    await bench.q.send_many("work", [FixedTimeMessage(str(i), base + i) for i in range(10)])
    wanted = MessageFilter("delayed", since_ms=base + 3, until_ms=base + 5)
    found = await bench.inspector.select("work", wanted)
    assert ([row.id for row in found.rows], found.total) == (["3", "4", "5"], 3)
    assert (await bench.inspector.preview("work", wanted)).count == 3


async def test_what_cannot_be_is_refused(bench: Bench) -> None:
    topic = await bench.topic(slots=2)
    with pytest.raises(errors.InvalidFilter, match="slot"):
        await bench.inspector.select("work", MessageFilter("dead", slot=2))
    with pytest.raises(errors.InvalidFilter, match="until_ms"):
        await bench.inspector.preview("work", MessageFilter("ready", until_ms=5))
    with pytest.raises(errors.InvalidMessage, match="scan"):
        await bench.inspector.select("work", MessageFilter("dead"), scan=0)
    with pytest.raises(errors.InvalidMessage, match="limit"):
        await bench.inspector.select("work", MessageFilter("dead"), limit=0)
    await bench.q.send_many(topic.name, [PriorityMessage(f"m{i}", 20) for i in range(9)])
    cursor = (await bench.inspector.select("work", MessageFilter("ready"), scan=2)).next_cursor
    for wanted, wrong, words in (
        (MessageFilter("ready", text="m"), cursor, "another filter"),
        (MessageFilter("ready"), "nonsense", "not one of ours"),
        (MessageFilter("ready"), "bnVsbA", "not one of ours"),
        (MessageFilter("ready"), (await bench.inspector.messages("work", "ready", limit=2)).next_cursor, "not one of"),
    ):
        with pytest.raises(errors.InvalidMessage, match=words):
            await bench.inspector.select("work", wanted, wrong)


async def test_every_action_takes_a_filter(bench: Bench) -> None:
    await bench.topic(slots=4)
    await bench.q.send_many("work", [PriorityMessage(f"m{i:02}", 20) for i in range(30)])
    await bench.q.reject(await bench.q.take("work", 30))
    dead = MessageFilter("dead", text="m0")
    assert await bench.control.requeue_matching("work", dead, at_most=4) == (4, 0, 0, 0, False, 0, 0)
    assert await bench.control.requeue_matching("work", dead, at_most=7) == (6, 0, 0, 0, True, 0, 0)
    assert await bench.control.requeue_matching("work", dead) == (0, 0, 0, 0, True, 0, 0)
    assert await bench.control.drop_matching("work", MessageFilter("dead", text="m1")) == (10, 0, 0, 0, True, 0, 0)
    assert await bench.control.restore_matching("work", MessageFilter("trash")) == (10, 0, 0, 0, True, 0, 0)
    await bench.q.nack(await bench.q.take("work", 4), delay_ms=FAR_MS)
    assert await bench.control.run_now_matching("work", MessageFilter("retrying")) == (4, 0, 0, 0, True, 0, 0)
    assert await bench.control.cancel_matching("work", MessageFilter("ready")) == (10, 0, 0, 0, True, 0, 0)
    ready = MessageFilter("ready", text="m0")
    assert await bench.control.restore_matching("work", MessageFilter("trash")) == (10, 0, 0, 0, True, 0, 0)
    assert await bench.control.reschedule_matching("work", ready, priority=40, at_most=3) == (3, 0, 0, 0, False, 0, 0)
    assert await bench.control.reschedule_matching("work", ready, priority=40) == (7, 0, 0, 0, True, 0, 0)
    assert await bench.control.reschedule_matching("work", ready, priority=40) == (0, 0, 0, 0, True, 0, 0)
    with pytest.raises(errors.InvalidMessage, match="rescheduled by priority"):
        await bench.control.reschedule_matching("work", ready, due_ms=FAR_MS)
    assert {each.priority for each in await bench.q.take("work", 10)} == {40}
    left = await bench.inspector.select_refs("work", MessageFilter("dead"))
    assert sorted(ref.id for ref in left.refs) == [f"m{i}" for i in range(10, 30)]
    for action, wanted, at_most, said in (
        ("requeue", MessageFilter("ready"), None, "requeue takes what is dead"),
        ("cancel", MessageFilter("dead"), None, "cancel takes what is delayed or ready or retrying"),
        ("drop", {"state": "dead"}, None, "must be a MessageFilter, not dict"),
        ("drop", MessageFilter("dead"), True, "at_most=True must be"),
    ):
        with pytest.raises(errors.RMQError, match=said):
            await getattr(bench.control, f"{action}_matching")("work", wanted, at_most=at_most)
