"""Spark data sources over the queues and their journals, and over archives."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(session: SparkSession) -> SparkSession:
    """Makes ``rmq_queues``, ``rmq_journal`` and ``rmq_archive`` formats of this session; gives it back."""
    from rmq_core.pipeline.sources.archive import ArchiveSource
    from rmq_core.pipeline.sources.journal import JournalSource
    from rmq_core.pipeline.sources.queues import QueuesSource

    for source in (QueuesSource, JournalSource, ArchiveSource):
        session.dataSource.register(source)
    return session
