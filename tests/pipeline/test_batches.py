"""An archive job reads much in several batches: whoever kills it has one done again, at most."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ
from rmq_core.errors import PipelineError
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs import archive as archiving
from rmq_core.pipeline.jobs.archive import archive, batch_writer
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline.journal_rows import be_busy, exactly, rows, transitions
from tests.support.waiting import wait_until


def test_a_killed_run_does_one_batch_again_at_most(
    spark: Any, client: RMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_busy(client)
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 2, 1_000)
    kept, wanted, written = Archive(spark, str(tmp_path / "archive")), transitions(client), list[int]()

    def dying(events: str) -> Any:
        def write(batch: Any, number: int) -> None:
            written.append(number)
            if number == 2:
                wait_until(lambda: len(transitions(client)) < len(wanted), what="it trims behind what is durable")
                batch_writer(events)(batch.limit(2), number)
                raise RuntimeError("killed in the middle of writing")
            batch_writer(events)(batch, number)

        return write

    def noting(events: str) -> Any:
        def write(batch: Any, number: int) -> None:
            written.append(number)
            batch_writer(events)(batch, number)

        return write

    monkeypatch.setattr(archiving, "LOOK_S", 0.1)
    monkeypatch.setattr(archiving, "ENTRIES_AT_ONCE", 4)
    monkeypatch.setattr(archiving, "batch_writer", dying)
    with pytest.raises(PipelineError, match="the archive stopped"):
        archive(spark, options, kept.path)
    assert written == [0, 1, 2] and kept.last_committed() == 1
    found = rows(kept.read())
    assert set(found) < wanted and len({row[:3] for row in found}) <= 8, "entries of two batches"
    monkeypatch.setattr(archiving, "batch_writer", noting)
    done = archive(spark, replace(options, max_entries=25), kept.path)  # the option is asked first
    assert written == [0, 1, 2, *range(2, 2 + done.batches)] and done.batches >= 2
    assert done.rows == len(wanted) - len(found)
    exactly(rows(kept.read()), wanted)
    assert transitions(client) == set()
