"""An erasure that is killed, at whatever it was about to write or remove: whoever comes next ends it, or it is run
again; nothing is left of the person, and the record says that it is done only when it is.

Python is between two calls of Java then, so what a kill leaves behind is the files as they are, which are copied while
an erasure lives; and leases, which run out. ``ERASING=every`` goes on from every step; else from some.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrameWriter

from rmq_core import RMQ, Addressed, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.pipeline import files
from rmq_core.pipeline.archive import erasures, redacted
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.compaction import FileSystem
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.erasing import erase
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.protocol.keys import slot_for

EVERY = os.environ.get("ERASING") == "every"
BOB = next(name for name in ("bob", "bea", "ben", "bill") if slot_for(name.encode(), 2) != slot_for(b"ann", 2))
"""In another slot than Ann."""
LEFT = {"lost": 2, "slot_ledger": 1}
"""Bob's, one of which has told of Ann; and her slot counted one more than it holds."""
PARTS = ("archive", "reports")
WRITERS: tuple[tuple[Any, str], ...] = (
    (files, "write_text"),
    (files, "remove"),
    (FileSystem, "remove"),
    (DataFrameWriter, "parquet"),
    (DataFrameWriter, "json"),
    (Path, "replace"),
)
"""What changes anything."""


@dataclass
class Prepared:
    """An archive and a closing state with messages of Ann, one of which Redis has lost."""

    spark: Any
    options: SourceOptions
    folder: Path

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    def erase(self) -> None:
        erase(
            *(self.spark, self.options, str(self.archive)),
            slot_bases=[b"ann"],
            reason="asked",
            reports=f"{self.folder}/reports",
        )

    def keep(self, name: str) -> None:
        for each in PARTS:
            shutil.copytree(self.folder / each, self.folder / name / each)

    def bring_back(self, name: str) -> None:
        for each in PARTS:
            shutil.rmtree(self.folder / each)
            shutil.copytree(self.folder / name / each, self.folder / each)

    def is_applied(self) -> bool:
        """Whether readers of the archive see it."""
        kept = Archive(self.spark, str(self.archive))
        return b"ann-1" not in {bytes(row.id) for row in kept.read().select("id").distinct().collect()}

    def records(self) -> list[erasures.Erasure]:
        return erasures.erasures(self.spark, str(self.archive))

    def nothing_is_left(self) -> None:
        for file in (*self.archive.rglob("*"), *(self.folder / "reports").rglob("*")):
            if file.suffix == ".parquet":
                rows = pq.ParquetFile(file).read().to_pylist()  # type: ignore[no-untyped-call]
                assert not [row for row in rows if b"ann" in repr(row).encode()], file
            elif file.is_file():
                assert b"ann-" not in file.read_bytes(), file

    def is_done(self) -> None:
        """And said to be."""
        self.nothing_is_left()
        assert erasures.begun(self.spark, str(self.archive)) == []
        *stopped, last = self.records()
        assert last.done_ms and (last.messages, last.transitions) == (2, 4)
        assert [each.done_ms for each in stopped] in ([], [None])

    def reconcile(self) -> dict[str, int]:
        return reconcile(self.spark, Inputs(self.options, str(self.archive), f"{self.folder}/reports"))["counts"]


@pytest.fixture(scope="module")
def prepared(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    folder = tmp_path_factory.mktemp("killed")
    with EmbeddedRedis() as server, RMQ(server.url, "killed") as client, server.client() as raw:
        options = SourceOptions(server.url, "killed", (), 4)
        client.define(Topic("orders", TopicKind.PRIORITY, slots=2, journal="full", undo_ms=0))
        after = Addressed("orders", "for ann, too", priority=50, key="ann-9", slot_basis="ann")
        for name, basis, then in (
            ("ann-1", "ann", None),
            ("ann-2", "ann", None),
            ("b-1", BOB, None),
            ("b-2", BOB, after),
        ):
            client.send("orders", f"for {basis}", priority=50, key=name, slot_basis=basis, if_done=then)
            if name == "ann-1":
                client.ack(client.take("orders", 1))
        prepared = Prepared(spark, options, folder)
        archive(spark, options, str(prepared.archive), compacting=False)
        assert prepared.reconcile() == {}
        # Of a run that was killed.
        shutil.copytree(prepared.archive / "events", folder / "reports" / "killed" / "work" / "journal")
        for slot in range(2):
            raw.delete(client.keyspace.slot("orders", slot).store, client.keyspace.slot("orders", slot).body)
        yield prepared


def lives(prepared: Prepared, patched: pytest.MonkeyPatch) -> list[str]:
    """An erasure; and a reconciliation that begins when it is noted, and closes its books, on all that the archive had,
    before it is applied. The steps, before each of which the files are kept, under its number."""
    steps, commit, erasing = list[str](), redacted.commit, True

    def counted(act: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*given: Any, **more: Any) -> Any:
            if erasing:
                steps.append(f"{act.__qualname__} {' '.join(str(each)[-60:] for each in given)}")
                prepared.keep(str(len(steps)))
            return act(*given, **more)

        return counting

    def after_a_run(*given: Any) -> None:
        nonlocal erasing
        erasing = False
        reconcile(
            prepared.spark,
            Inputs(prepared.options, str(prepared.archive), f"{prepared.folder}/reports", from_scratch=True),
        )
        erasing = True
        commit(*given)

    with patched.context() as here:
        here.setattr(redacted, "commit", after_a_run)
        for owner, name in WRITERS:
            here.setattr(owner, name, counted(getattr(owner, name)))
        prepared.erase()
    return steps


def test_whoever_comes_next_ends_it(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    def archived() -> None:
        archive(prepared.spark, prepared.options, str(prepared.archive))

    def reconciled() -> None:
        assert prepared.reconcile() == LEFT

    steps = lives(prepared, monkeypatch)
    prepared.is_done()
    assert len(steps) >= 20
    last = next(nth for nth, step in enumerate(steps, 1) if step.startswith("DataFrameWriter.json"))
    nth_of = {step.split()[0]: nth for nth, step in enumerate(steps, 1)}
    some = {last: prepared.erase, last + 1: archived, nth_of["FileSystem.remove"]: reconciled}
    some[len(steps)] = prepared.erase
    for nth in range(1, len(steps) + 1) if EVERY else some:
        prepared.bring_back(str(nth))
        print(nth, steps[nth - 1])
        assert prepared.is_applied() == (nth > last), steps[nth - 1]
        if any(each.done_ms for each in prepared.records()):
            prepared.nothing_is_left()
        ending = some.get(nth) or (prepared.erase if nth < last else (archived, reconciled, prepared.erase)[nth % 3])
        ending()
        prepared.is_done()
