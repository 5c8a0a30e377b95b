"""What is little goes together: how many tasks there are, and that nothing is missed by it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.pipeline.sources import queue_rows
from rmq_core.pipeline.sources.journal import JournalReader, Ranges
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.packing import TASKS, packed
from rmq_core.pipeline.sources.queue_rows import read_slots
from rmq_core.pipeline.sources.queues import QueuesReader, Slots

LEAST, MOST = 20, 100


@given(st.lists(st.integers(0, 300)))
def test_all_is_shared_out_in_its_order(sizes: list[int]) -> None:
    packs = packed(enumerate(sizes), LEAST, MOST)
    assert [item for pack in packs for item in pack] == [*range(len(sizes))]
    room = min(MOST, max(LEAST, sum(sizes) // TASKS))
    held = [sum(sizes[item] for item in pack) for pack in packs]
    assert all(size <= room or len(pack) == 1 for size, pack in zip(held, packs, strict=True))
    assert all(one + other > room for one, other in pairwise(held)), "two would have fitted into one"


def fill(client: RMQ) -> SourceOptions:
    """Two topics of many slots that hold little, and one slot that holds more than is asked for at once."""
    client.define(Topic("small", TopicKind.PRIORITY, slots=64, journal=Journal.FULL))
    client.define(Topic("large", TopicKind.PRIORITY, slots=4, journal=Journal.FULL))
    client.send_many("small", [PriorityMessage(f"m{n}", priority=20 + n % 9, key=f"k{n}") for n in range(90)])
    client.send_many("large", [PriorityMessage(f"{n}", priority=30, slot_basis="one") for n in range(7_000)])
    for delivery in client.take("small", 9):
        client.reject(delivery, message="no") if delivery.slot % 2 else client.nack(delivery, error="Broken")
    return SourceOptions.read({"url": client.target.url, "namespace": client.keyspace.namespace})


def rows(batches: Any) -> Counter[Any]:
    return Counter(
        tuple(row[name] for name in ("topic", "slot", "part", "id", "score", "value", "exact"))
        for batch in batches
        for row in batch.to_pylist()
        if row["part"] not in queue_rows.EDGES
    )


def test_slots_that_are_read_together_hold_what_each_does(client: RMQ) -> None:
    options = fill(client)
    reader = QueuesReader(options)
    (planned,) = [each for each in reader.partitions() if isinstance(each, Slots)]
    assert len(planned.places) == 68, "in one task"
    together = list(reader.read(planned))
    singly = [batch for each in planned.places for batch in read_slots(client.connection, client.keyspace, [each])]
    assert rows(together) == rows(singly)
    assert len(rows(together)) >= 7_090
    edges = Counter(row["part"] for batch in together for row in batch.to_pylist() if row["part"] in queue_rows.EDGES)
    assert edges == {"begin": 68, "end": 68}


def test_a_number_of_slots_that_is_asked_for_is_kept(client: RMQ) -> None:
    options = SourceOptions.read(
        {"url": client.target.url, "namespace": fill(client).namespace, "slots_per_partition": "16"}
    )
    queues = [each.places for each in QueuesReader(options).partitions() if isinstance(each, Slots)]
    assert sorted(map(len, queues)) == [4, 16, 16, 16, 16]
    journals = [each.ranges for each in JournalReader(options).partitions() if isinstance(each, Ranges)]
    assert sorted(map(len, journals)) == [4, 16, 16, 16, 16]
    assert all(len({each.topic for each in ranges}) == 1 for ranges in journals)


def test_journals_that_are_read_together_say_what_each_does(client: RMQ) -> None:
    options = fill(client)
    reader, by_slot = JournalReader(options), JournalReader(SourceOptions(options.url, options.namespace, (), 1))
    (planned,) = reader.partitions()

    def of(batches: Any) -> list[Any]:
        return sorted(
            (row["topic"], row["slot"], row["n"], row["seq"], row["event"], row["id"], row["body"] or b"")
            for batch in batches
            for row in batch.to_pylist()
        )

    singly = [batch for each in by_slot.partitions() for batch in by_slot.read(each)]
    assert len(by_slot.partitions()) == 68
    assert of(reader.read(planned)) == of(singly)
    assert len(of(singly)) == 7_090 + 18 + 68


def test_what_was_trimmed_long_ago_makes_no_task_larger(client: RMQ) -> None:
    work = client.define(Topic("work", TopicKind.PRIORITY, slots=2, journal=Journal.EVENTS))
    for i in range(40):
        client.send("work", f"m{i}", priority=20)
    keys = [client.keyspace.slot("work", slot).journal for slot in range(work.slots)]
    client.connection.run([("XTRIM", key, "MAXLEN", 3) for key in keys])
    options = SourceOptions(client.target.url, client.keyspace.namespace, ())
    reader = JournalReader(options)
    (planned,) = [each for each in reader.partitions() if isinstance(each, Ranges)]
    assert [each.entries for each in planned.ranges] == [3, 3]
    assert sum(batch.num_rows for batch in reader.read(planned)) == 6
    client.connection.run([("XTRIM", keys[1], "MAXLEN", 0)])
    (planned,) = [each for each in reader.partitions() if isinstance(each, Ranges)]
    assert [each.entries for each in planned.ranges] == [3]
