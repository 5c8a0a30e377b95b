"""Every job on a busy machine: what fails once of that is tried again, and ends well; what goes on failing is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError
from rmq_core.model.topic import Journal
from rmq_core.pipeline import sentences
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs import archive as archiving
from rmq_core.pipeline.jobs import reconcile as reconciling
from rmq_core.pipeline.jobs.archive import archive, batch_writer
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring import restore as restoring
from rmq_core.pipeline.restoring.put_back import putter
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline.busy_machine import LATE, fails_once, late
from tests.pipeline.journal_rows import exactly, rows, transitions


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as own:
        yield own


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences.with_retries, "__defaults__", (sentences.ATTEMPTS, 0.0))


def live(client: RMQ) -> None:
    """A small queue with messages that wait, are in flight, dead, and done."""
    client.define(Topic("work", TopicKind.PRIORITY, slots=1, journal=Journal.FULL, visibility_timeout_ms=600_000))
    client.send_many("work", [PriorityMessage(f"of {i}", 20, key=f"m{i}") for i in range(20)])
    taken = client.take("work", 6)
    client.ack(taken[:2])
    client.reject(taken[2:4])


def held(client: RMQ) -> dict[str, set[bytes]]:
    keys = client.keyspace.slot("work", 0)
    waiting, retrying, in_flight, dead = client.connection.run(
        [("ZRANGE", key, 0, -1) for key in (keys.store, keys.retry, keys.prepare, keys.dead)]
    )
    return {"alive": {*waiting, *retrying, *in_flight}, "dead": set(dead)}


def test_what_fails_once_ends_well(
    spark: Any, server: EmbeddedRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive after it has written a batch, the restore after it has put something back; of a reconciliation
    `test_quiet_topics` tells."""
    path, options = str(tmp_path / "archive"), SourceOptions(server.url, "again", (), 2)
    with RMQ(server.url, "again") as client:
        live(client)
        wanted, before = transitions(client), held(client)
        tries = fails_once(monkeypatch, archiving, "batch_writer", late_writer)
        archive(spark, options, path, compacting=False)
        assert len(tries) == 2
        exactly(rows(Archive(spark, path).read()), wanted)
        server.client().flushall()
        tries = fails_once(monkeypatch, restoring, "putter", late_putter)
        did = restore(spark, options, path)
        assert len(tries) == 2
        assert (did.topics, did.left_out) == (("work",), ())
        assert held(client) == before


def late_writer(events: str) -> Any:
    def write(batch: Any, number: int) -> None:
        batch_writer(events)(batch, number)
        late()

    return write


def late_putter(*given: Any, **more: Any) -> Any:
    put = putter(*given, **more)

    def puts_some(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for result in put(batch.slice(0, 5) for batch in batches):  # an empty partition puts nothing back
            yield result
            raise RuntimeError(LATE)

    return puts_some


def test_what_goes_on_failing_is_said_in_a_sentence(
    spark: Any, client: RMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 2)
    live(client)
    archive(spark, options, str(tmp_path / "archive"), compacting=False)
    client.send("work", PriorityMessage("news", 20))  # else no stream begins
    inputs = Inputs(options, str(tmp_path / "archive"), str(tmp_path / "reports"))
    for module, name, job, said in (
        (archiving, "batch_writer", lambda: archive(spark, options, inputs.archive), "the archive stopped"),
        (reconciling, "load", lambda: reconcile(spark, inputs), "the reconciliation stopped"),
        (restoring, "_now_ms", lambda: restore(spark, options, inputs.archive), "the restore stopped"),
    ):
        tries: list[tuple[Any, ...]] = []

        def fails(*given: Any, tries: list[tuple[Any, ...]] = tries) -> Any:
            tries.append(given)
            raise RuntimeError(LATE)

        monkeypatch.setattr(module, name, fails)
        with pytest.raises(PipelineError) as caught:
            job()
        assert (str(caught.value), len(tries)) == (f"{said}: {sentences.BUSY}", sentences.ATTEMPTS)


def test_what_an_executor_took_with_it_is_made_again() -> None:
    lost = "[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_35_1 not found!\nEither the executor that …"
    tries = iter([RuntimeError(lost), None])

    def act() -> str:
        if error := next(tries):
            raise error
        return "done"

    assert sentences.with_retries(act) == "done"
    assert sentences.sentence(RuntimeError(lost)) == sentences.LOST
