"""A machine that loses its power loses nothing of an archive: what is new is forced to the disk before what it stands
for is removed, be it journals or the folders that it replaces."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ
from rmq_core.pipeline import files
from rmq_core.pipeline.archive import compaction, notes, positions, redacted
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.erasing import erase
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline.journal_rows import be_busy, more, transitions

PARTS = ("events", "compacted", "checkpoint/commits", "topics", "data-sets")


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The numbers (inodes) of files and folders that were forced to the disk."""
    numbers, force = set[int](), os.fsync

    def noting(known: int) -> None:
        force(known)
        numbers.add(os.fstat(known).st_ino)

    monkeypatch.setattr(os, "fsync", noting)
    return numbers


def test_what_replaces_is_on_the_disk_before_anything_is_removed(
    spark: Any, client: RMQ, tmp_path: Path, forced: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, looked = tmp_path / "archive", list[str]()

    def is_forced(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def looking(*given: Any, **more: Any) -> Any:
            there = [each for part in PARTS for each in (path / part).rglob("[!._]*") if each.is_file()]
            folders = {each.parent for each in there}
            missing = [each for each in (*there, *folders) if each.stat().st_ino not in forced]
            assert missing == [], f"before {name}"
            looked.append(name)
            return act(*given, **more)

        return looking

    be_busy(client)
    ended = next(each[7] for each in transitions(client) if each[6] == "acked")
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 2, 1_000)
    monkeypatch.setattr(positions, "move", is_forced("journals are trimmed", positions.move))
    for n in range(2):
        more(client, n)
        archive(spark, options, str(path), compacting=False)
    monkeypatch.setattr(redacted, "sweep", is_forced("an erasure removes", redacted.sweep))
    erase(spark, options, str(path), ids=[ended], reason="asked")
    more(client, 2)
    archive(spark, options, str(path), compacting=False)
    kept = Archive(spark, str(path))
    assert compaction.compact(kept, most=1) == 1
    is_forced("what a compaction replaced goes", lambda: None)()
    with monkeypatch.context() as here:
        here.setattr(files, "remove", is_forced("notes become one file", files.remove))
        notes.tidy(kept, {})
    assert [*dict.fromkeys(looked)] == [
        *("journals are trimmed", "an erasure removes"),
        *("what a compaction replaced goes", "notes become one file"),
    ]
