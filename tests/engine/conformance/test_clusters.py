"""Dead letters are counted by what they died of, by the scripts, whatever happens to them."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core import MessageFilter, PriorityMessage, TopicKind
from rmq_core.model.fingerprints import OTHER, UNKNOWN, fingerprint
from tests.engine.conformance.bench import FAR_MS, Bench, message
from tests.engine.conformance.conftest import scripts_alone
from tests.engine.conformance.test_controlling import KINDS, Scene

pytestmark = scripts_alone

LETTERS = str.maketrans("0123456789", "ghijklmnop")


async def die(bench: Bench, ident: str, error: str, text: str, **options: Any) -> None:
    """Sends and fails for good: the bench's topic has no retries."""
    await bench.q.send("work", PriorityMessage(ident, 20, **options))
    (delivery,) = await bench.q.take("work")
    await bench.q.nack(delivery, error=error, message=text)


async def counts(bench: Bench) -> dict[str, int]:
    return {each.fingerprint: each.count for each in await bench.inspector.dead_clusters("work")}


async def test_numbers_do_not_split_a_cluster_and_classes_do(bench: Bench) -> None:
    await bench.topic(slots=4, max_retries=0)
    before = await bench.now_ms()
    for number in range(5):
        await die(bench, f"a{number}", "IOError", f"no answer from 10.0.0.{number}")
    await die(bench, "b", "TypeError", "no answer from 10.0.0.1")
    first, second = await bench.inspector.dead_clusters("work")
    assert (first.topic, first.error, first.count) == ("work", "IOError", 5)
    assert first.fingerprint == fingerprint("IOError", "no answer from 10.0.0.99")
    assert first.example.startswith("no answer from 10.0.0.")
    assert before <= first.first_ms <= first.last_ms <= await bench.now_ms()
    assert (second.error, second.example, second.count) == ("TypeError", "no answer from 10.0.0.1", 1)
    rows = (await bench.inspector.messages("work", "dead")).rows
    assert {row.fingerprint for row in rows} == {first.fingerprint, second.fingerprint}


@pytest.mark.parametrize("kind", KINDS)
async def test_every_way_out_of_dead_is_noticed(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind, max_retries=0)
    scene = Scene(bench, kind)
    for content in ("requeued", "dropped", "merged", "left"):
        await scene.put(content)
        (delivery,) = await bench.q.take("work")
        await bench.q.nack(delivery, error="E", message="m 1")
    assert await counts(bench) == {fingerprint("E", "m 1"): 4}
    await scene.act("drop", "dropped")
    assert await counts(bench) == {fingerprint("E", "m 1"): 3}
    # Dead of something else, while it is dead: one letter, in its new cluster.
    await scene.put("merged")
    (delivery,) = await bench.q.take("work")
    await bench.q.reject(delivery)
    assert await counts(bench) == {fingerprint("E", "m 1"): 2, fingerprint("Reject", ""): 1}
    await scene.act("requeue", "requeued", "merged")
    assert await counts(bench) == {fingerprint("E", "m 1"): 1}
    await scene.act("requeue", "left")
    assert await counts(bench) == {}
    assert bench.raw.exists(f"cause{{{bench.namespace}:work_0}}") == 0


async def test_a_letter_stays_in_its_cluster_while_its_id_fails_again(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("a", 20))
    await bench.q.reject(await bench.take_one(), message="first")
    await bench.q.send("work", PriorityMessage("a", 20))
    await bench.q.nack(await bench.take_one(), error="Second", delay_ms=FAR_MS)
    # Dead of the first, and waiting after the second, whose record replaced the first one's.
    assert await counts(bench) == {fingerprint("Reject", "first"): 1}
    (row,) = (await bench.inspector.messages("work", "dead")).rows
    assert row.fingerprint == fingerprint("Reject", "first")
    await bench.control.drop("work", ["a"])
    assert await counts(bench) == {}
    (row,) = (await bench.inspector.messages("work", "retrying")).rows
    assert row.fingerprint == fingerprint("Second", "")


async def test_timeouts_are_a_cluster(bench: Bench) -> None:
    await bench.topic(max_retries=0, visibility_timeout_ms=100)
    await bench.q.send("work", PriorityMessage("a", 20))
    await bench.take_one()

    async def died() -> bool:
        await bench.q.take("work")
        return bool(await counts(bench))

    await bench.until(died, "the timeout")
    (cluster,) = await bench.inspector.dead_clusters("work")
    assert (cluster.error, cluster.example) == ("Timeout", "not settled within 100 ms")
    assert cluster.fingerprint == fingerprint("Timeout", "not settled within 30000 ms")


async def test_letters_from_before_there_were_fingerprints(bench: Bench) -> None:
    await bench.topic(max_retries=0)
    await die(bench, "new", "E", "m")
    for ident in ("old", "older", "oldest"):
        await die(bench, ident, "Old", "m")
    # As an older release left them: in no cluster, their records without a fingerprint.
    store = f"{bench.namespace}:work_0"
    bench.raw.hdel(f"cause{{{store}}}", "old", "older", "oldest")
    bench.raw.hdel(f"clusters{{{store}}}", fingerprint("Old", "m"))
    assert await counts(bench) == {UNKNOWN: 3, fingerprint("E", "m"): 1}
    rows = {row.id: row.fingerprint for row in (await bench.inspector.messages("work", "dead")).rows}
    assert (rows["old"], rows["new"]) == (UNKNOWN, fingerprint("E", "m"))
    await bench.control.requeue("work", ["old"])
    await bench.control.drop("work", ["older"])
    assert await counts(bench) == {UNKNOWN: 1, fingerprint("E", "m"): 1}
    (row,) = (await bench.inspector.select("work", MessageFilter("trash", fingerprint=UNKNOWN))).rows
    assert (row.id, row.fingerprint) == ("older", UNKNOWN)
    found = await bench.inspector.preview("work", MessageFilter("dead", fingerprint=UNKNOWN))
    assert (found.count, found.exact, [row.id for row in found.examples]) == (1, True, ["oldest"])
    await bench.control.requeue("work", ["oldest", "new"])
    assert await counts(bench) == {}


async def test_too_many_causes_are_counted_together(bench: Bench) -> None:
    await bench.topic(max_retries=0)
    await bench.q.send_many("work", [PriorityMessage(f"m{i}", 20) for i in range(300)])
    for delivery in await bench.q.take("work", 1000):
        await bench.q.nack(delivery, error=delivery.text.translate(LETTERS), message="")
    found = await counts(bench)
    assert (len(found), sum(found.values()), found[OTHER]) == (257, 300, 44)
    known = bench.ledger().clusters
    rows = (await bench.inspector.messages("work", "dead", limit=500)).rows
    assert {row.fingerprint for row in rows} == {name.decode() for name in known}
    await bench.control.drop("work", [row.ref for row in rows])
    assert await counts(bench) == {}


async def test_hostile_words(bench: Bench) -> None:
    await bench.topic(max_retries=0)
    text = '","worker":"x\\ \x00 ☃ \n {"error":"'
    await die(bench, "a", 'E","worker":"', text)
    (cluster,) = await bench.inspector.dead_clusters("work")
    assert (cluster.error, cluster.example) == ('E","worker":"', text)


async def test_a_topic_of_each_kind_without_dead_letters_has_none(bench: Bench) -> None:
    for kind in KINDS:
        await bench.topic(kind, name=kind.value)
        now = await bench.now_ms()
        options = {"due_ms": now + 60_000} if kind is TopicKind.FIXED_TIME else {}
        await bench.q.send(kind.value, message(kind, "a", **options))
        assert await bench.inspector.dead_clusters(kind.value) == ()
