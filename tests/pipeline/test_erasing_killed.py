"""An erasure that is killed, at whatever it was about to write or remove: whoever comes next ends it, or it is run
again; nothing is left of the person, and the record says that it is done only when it is.

``ERASING=every`` kills it at every step; else at some.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rmq_core import RMQ, Addressed, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.pipeline.archive import erasures
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.erasing import erase
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.protocol.keys import slot_for
from tests.docs.blocks import ROOT

EVERY = os.environ.get("ERASING") == "every"
BOB = next(name for name in ("bob", "bea", "ben", "bill") if slot_for(name.encode(), 2) != slot_for(b"ann", 2))
"""In another slot than Ann."""
LEFT = {"lost": 2, "slot_ledger": 1}
"""Bob's, one of which has told of Ann; and her slot counted one more than it holds."""


@dataclass
class Prepared:
    """An archive and a closing state with messages of Ann, one of which Redis has lost; as before each kill."""

    spark: Any
    server: EmbeddedRedis
    options: SourceOptions
    folder: Path

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    def begin(self, nth: int) -> list[str]:
        """An erasure that is killed at that step, or lives (0), and a reconciliation meanwhile; what it said."""
        for name in ("archive", "reports"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        shutil.copytree(self.folder / "before", self.archive)
        # Of a run that was killed.
        shutil.copytree(self.folder / "before" / "events", self.folder / "reports" / "killed" / "work" / "journal")
        gateway = self.spark.sparkContext._gateway.gateway_parameters
        environment = os.environ | {
            **{"PYSPARK_GATEWAY_PORT": str(gateway.port), "PYSPARK_GATEWAY_SECRET": gateway.auth_token},
            "RECONCILES": f"{self.folder}/reports",
        }
        words = [self.options.url, self.options.namespace, str(self.archive), str(nth), "ann"]
        program = [sys.executable, "-m", "tests.pipeline.killed_erasing", *words]
        done = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == (-9 if nth else 0), done.stderr
        with self.server.client() as raw, RMQ(self.server.url, self.options.namespace) as client:
            for role in ("archive", "restore"):  # as if the leases of the one that was killed had run out
                raw.delete(client.keyspace.election(role)[0])
        return done.stdout.splitlines()

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
        archive(spark, options, f"{folder}/before", compacting=False)
        assert reconcile(spark, Inputs(options, f"{folder}/before", f"{folder}/reports"))["counts"] == {}
        for slot in range(2):
            raw.delete(client.keyspace.slot("orders", slot).store, client.keyspace.slot("orders", slot).body)
        yield Prepared(spark, server, options, folder)


def test_whoever_comes_next_ends_it(prepared: Prepared) -> None:
    def again() -> None:
        options, reports = prepared.options, f"{prepared.folder}/reports"
        erase(prepared.spark, options, str(prepared.archive), slot_bases=[b"ann"], reason="asked", reports=reports)

    def archived() -> None:
        archive(prepared.spark, prepared.options, str(prepared.archive))

    def reconciled() -> None:
        assert prepared.reconcile() == LEFT

    *steps, total = prepared.begin(0)
    prepared.is_done()
    assert len(steps) == int(total) >= 20
    last = next(nth for nth, step in enumerate(steps, 1) if step.startswith("DataFrameWriter.json"))
    nth_of = {step.split()[0]: nth for nth, step in enumerate(steps, 1)}
    some = {last: again, last + 1: archived, nth_of["FileSystem.remove"]: reconciled, int(total): again}
    for nth in range(1, int(total) + 1) if EVERY else some:
        prepared.begin(nth)
        print(nth, steps[nth - 1])
        assert prepared.is_applied() == (nth > last), steps[nth - 1]
        if any(each.done_ms for each in prepared.records()):
            prepared.nothing_is_left()
        ending = some.get(nth) or (again if nth < last else (archived, reconciled, again)[nth % 3])
        ending()
        prepared.is_done()
    assert prepared.reconcile() == LEFT
