"""Archives, closing states and reports in an object store, which knows no renaming at once, and is out of reach at any
moment: each job says so, the next one goes on, and everything is there once.

``OBJECTS=every`` cuts off at every change; else at some.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, PriorityMessage
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.compaction import compact
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.erasing import erase
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline.journal_rows import be_busy, exactly, rows, transitions
from tests.pipeline.object_store import away_after, changes_left, mount

MANY, NEVER_MS = 10_000, 10**12
EVERY = 1 if os.environ.get("OBJECTS") == "every" else 5


@pytest.fixture
def store(spark: Any, tmp_path: Path) -> str:
    """A folder in it."""
    mount(spark)
    return f"objects://{tmp_path}"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RMQ]:
    """A client of a server that is going to be flushed."""
    with EmbeddedRedis() as server, RMQ(server.url, "os") as client:
        yield client


def options_of(client: RMQ) -> SourceOptions:
    return SourceOptions(client.target.url, client.keyspace.namespace, (), 2, 1_000)


def inputs(client: RMQ, store: str) -> Inputs:
    return Inputs(options_of(client), f"{store}/archive", f"{store}/reports", stuck_ms=NEVER_MS)


def clean(spark: Any, client: RMQ, store: str) -> dict[str, Any]:
    """What a reconciliation read that found nothing."""
    summary = reconcile(spark, inputs(client, store))
    assert (summary["counts"], summary["complete"]) == ({}, True)
    return dict(summary["read"])


def more(client: RMQ, n: int) -> None:
    client.send_many("work", [PriorityMessage(f"more{n}-{i}", priority=60, key=f"m{n}-{i}") for i in range(4)])


def queues(client: RMQ, *names: str) -> dict[str, dict[bytes, float]]:
    """What is in these queues of each slot, with scores."""
    found = {}
    for topic, slots in (("work", 2), ("later", 1)):
        for slot in range(slots):
            keys = client.keyspace.slot(topic, slot)
            for name in names:
                (pairs,) = client.connection.run([("ZRANGE", getattr(keys, name), 0, -1, "WITHSCORES")])
                found[f"{topic} {slot} {name}"] = dict(pairs)
    return found


def test_everything_is_done_there(spark: Any, own: RMQ, store: str) -> None:
    be_busy(own)
    wanted, kept = transitions(own), Archive(spark, f"{store}/archive")
    ended = next(each[7] for each in wanted if each[6] == "acked")
    archive(spark, options_of(own), kept.path, compacting=False)
    exactly(rows(kept.read()), wanted)
    assert clean(spark, own, store)["events_known"] == 0
    for n in range(2):
        more(own, n)
        wanted |= transitions(own)
        archive(spark, options_of(own), kept.path, compacting=False)
    assert compact(kept, most=1, read_within_s=0) == 1
    exactly(rows(kept.read()), wanted)
    read = clean(spark, own, store)
    assert (read["events"], read["events_known"], read["from_scratch"]) == (8, len(wanted) - 8, {}), "the state is used"
    erase(spark, options_of(own), kept.path, ids=[ended], reason="asked", reports=f"{store}/reports")
    assert ended not in {bytes(row.id) for row in kept.read().select("id").distinct().collect()}
    before, in_flight = queues(own, "store", "retry", "dead"), queues(own, "prepare")
    own.connection.run([("FLUSHALL",)])
    did = restore(spark, options_of(own), kept.path)
    assert (did.left_out, did.deleted, did.without_content) == ((), (), 1), "of what is told without contents"
    del before["later 0 store"]
    back = queues(own, "store", "retry", "dead")
    missing = {name: dict(before[name].items() - back[name].items()) for name in before}
    assert not any(missing.values()), (missing, back)
    taken = {id for several in in_flight.values() for id in several}
    assert sum(map(len, back.values())) == sum(map(len, before.values())) + len(taken) and len(taken) == 2


def cut_off(spark: Any, act: Callable[[], Any], between: Callable[[int], None], after: Callable[[int], None]) -> int:
    """Has ``act`` done again and again, cut off ever later, until it is no more; how often it was."""
    for changes in range(0, MANY, EVERY):
        between(changes)
        try:
            with away_after(spark, changes):
                act()
                assert changes_left(spark) > 0
        except PipelineError as error:
            assert "nobody reaches the store" in str(error)
            after(changes)
        else:
            after(changes)
            return changes // EVERY
    raise AssertionError("it is never done")


def test_an_archive_that_is_cut_off_loses_and_doubles_nothing(spark: Any, own: RMQ, store: str) -> None:
    be_busy(own)
    wanted, kept = set[tuple[Any, ...]](), Archive(spark, f"{store}/archive")

    def between(n: int) -> None:
        more(own, n)
        wanted.update(transitions(own))

    def after(n: int) -> None:
        archive(spark, options_of(own), kept.path, compacting=False)
        exactly(rows(kept.read()), wanted)

    assert cut_off(spark, lambda: archive(spark, options_of(own), kept.path, compacting=False), between, after) >= 2
    assert clean(spark, own, store)["events"] == len(wanted)
