"""Ends erasures that were stopped when the archive's readers saw them already, whoever begins next to write to it.

Of the messages there are only hashes left by then: what a closing state has of them is found by these. One that nobody
saw yet has changed nothing that counts, and is to be asked for again.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from rmq_core.errors import PipelineError
from rmq_core.pipeline.archive import erasures, redacted
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.erasures import Erasure
from rmq_core.pipeline.archive.lock import ArchiveBusy, ArchiveLock
from rmq_core.pipeline.archive.staging import sweep
from rmq_core.pipeline.jobs import erased_reports
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.state.erased import forget, newest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rmq_core.pipeline.state.erased import Matching


log = logging.getLogger("rmq_core.pipeline")


def end_begun(options: SourceOptions, kept: Archive) -> None:
    """For a job that has no lock of the archive; where another one has it, that one ends them, or the next."""
    if erasures.begun(kept.session, kept.path):
        with suppress(ArchiveBusy), ArchiveLock(options):
            try_to_end(kept, options.namespace)


def try_to_end(kept: Archive, namespace: str) -> None:
    """For a job with the lock that has something else to do, and does that also where a record cannot be read."""
    try:
        end_all(kept, namespace)
    except PipelineError as error:
        log.warning("what was begun to be erased is not ended: %s", error)


def end_all(kept: Archive, namespace: str) -> None:
    """For a job with the lock."""
    names = erasures.begun(kept.session, kept.path)
    if not names:
        return
    sweep(kept)
    live = replace(kept, until=None, notes=None)
    applied = erasures.applied(live.compaction_notes())
    for one in erasures.erasures(kept.session, kept.path):
        if one.name in names and one.done_ms is None and (one.name in applied or not one.days):
            _end(live, one, namespace)
    for name in names:
        erasures.close(kept.session, kept.path, name)


def _end(kept: Archive, begun: Erasure, namespace: str) -> None:
    session = kept.session
    one = erasures.apply(session, kept.path, begun)

    def of(several: Erasure) -> Matching:
        hashes = erasures.hashed(session, several)
        return lambda rows, how: _joined(rows, hashes, one.salt, how)

    # What a message that stays has told of them is known by its content alone: its topic is read from scratch.
    state, topics = newest(kept), set[str]()
    carried, tellers = state.carried() if state else None, of(replace(one, hashes=one.mentioning, within={}))
    if carried is not None and one.mentioning:
        topics = {row.topic for row in tellers(carried, "left_semi").select("topic").distinct().collect()}
    forget(kept, one.name, of(one), scratch=topics)
    redacted.sweep(kept, lambda: None)
    if one.reports:
        erased_reports.forget(session, one.reports, namespace, of(one), tellers)
    erasures.end(session, kept.path, one, one.transitions)


def _joined(rows: DataFrame, hashes: DataFrame, salt: str, how: str) -> DataFrame:
    from pyspark.sql import functions as F

    same = (redacted.base_of("topic") == F.col("of")) & (erasures.hash_of(rows["id"], salt) == F.col("hashed"))
    same &= hashes["within"].isNull() | rows["slot"].isNull() | (hashes["within"] == rows["slot"])
    return rows.join(F.broadcast(hashes), same, how)
