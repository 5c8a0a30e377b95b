"""The journal names the worker that made a change, and its host: once per entry, however many messages it tells of."""

from __future__ import annotations

import pytest

from rmq_core import Delivery, Journal, Listener, Release
from rmq_core.journal import reader
from rmq_core.protocol.takes import takeover
from rmq_core.worker.topic_work import HOST
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async

NAME = "packer-7"
EVENTS = {"taken", "acked", "retried", "died", "expired", "released"}


@pytest.mark.parametrize("journal", [Journal.EVENTS, Journal.FULL])
async def test_every_entry_of_a_worker_names_it_once(bench: WorkerBench, journal: Journal) -> None:
    topic = bench.topic(journal=journal, max_retries=1, visibility_timeout_ms=1_000)
    seen: list[str] = []

    def listen(delivery: Delivery) -> None:
        seen.append(delivery.text)
        if delivery.text.startswith("bad"):
            raise ValueError(delivery.text)
        if delivery.text.startswith("back") and seen.count(delivery.text) == 1:
            raise Release

    bench.send("lost 1", "lost 2", priority=900)
    assert len(bench.rmq.take("work", 2)) == 2  # by somebody who is never heard of again
    bench.send("lost alone", priority=900)
    assert len(bench.rmq.take("work")) == 1
    bench.send(*(f"{kind} {number}" for kind in ("ok", "bad", "back") for number in range(20)))
    before = bench.raw.xlen(bench.rmq.keyspace.slot("work", 0).journal)
    async with bench.running(Listener("work", listen), name=NAME):
        await wait_until_async(
            lambda: (bench.total("acked"), bench.total("died")) == (43, 20), what="all to be settled"
        )
    entries = bench.raw.xrange(bench.rmq.keyspace.slot("work", 0).journal)[before:]
    assert {entry[b"w"] for _, entry in entries} == {f"{HOST} {NAME}".encode()}
    assert {b"".join(entry.values()).count(NAME.encode()) for _, entry in entries} == {1}
    made = bench.rmq.run(reader.read(bench.rmq.keyspace, topic, count=10_000)).transitions
    told = {(each.event, each.host, each.worker) for each in made if each.event in EVENTS and each.worker}
    assert told == {(event, HOST, NAME) for event in EVENTS}
    assert len(entries) < len(made) / 2


def test_who_takes_over_a_slot_is_named(bench: WorkerBench) -> None:
    topic = bench.topic(journal=Journal.EVENTS, max_retries=0)
    bench.send("a")
    bench.rmq.take("work")
    bench.rmq.connection.run([takeover(bench.rmq.keyspace, topic, 0, "", by=f"{HOST} {NAME}")])
    made = bench.rmq.run(reader.read(bench.rmq.keyspace, topic, count=100)).transitions
    assert [(each.event, each.host, each.worker, each.error) for each in made[-2:]] == [
        ("expired", HOST, NAME, None),
        ("died", HOST, NAME, "OwnerLost"),
    ]
