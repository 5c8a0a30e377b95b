"""What lies where in an archive, and reading it: only batches that were finished, each once.

::

    <archive>/events/topic=<t>/date=<yyyy-mm-dd>/batch=<n>/*.parquet        one micro-batch of the stream
    <archive>/events/topic=<t>/date=<yyyy-mm-dd>/batch=<first>-<last>/…     several, compacted
    <archive>/compacted/*.json                                              which of the latter count
    <archive>/checkpoint/                                               Spark's; its commits say which batches are whole
    <archive>/topics/*.json                                                 the topics' definitions
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.pipeline.files import files as files_of
from rmq_core.pipeline.files import read_text, seen_here
from rmq_core.pipeline.schemas import EVENTS, ddl
from rmq_core.pipeline.session import sentence
from rmq_core.topic import Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DIGITS = 12


def batch_name(number: int) -> str:
    """How a folder says its batch; the names sort."""
    return f"{number:0{DIGITS}d}"


@dataclass(frozen=True)
class Archive:
    """An archive at any path Spark can write to."""

    session: SparkSession
    path: str

    @property
    def events(self) -> str:
        """The Parquet files."""
        return f"{self.path}/events"

    @property
    def checkpoint(self) -> str:
        """Spark's own notes."""
        return f"{self.path}/checkpoint"

    @property
    def compacted(self) -> str:
        """Which compacted folders are whole."""
        return f"{self.path}/compacted"

    @property
    def topics(self) -> str:
        """The definitions of topics."""
        return f"{self.path}/topics"

    def files(self, folder: str) -> list[str]:
        """The names of the files in a folder; none where there is no such folder."""
        from pyspark.errors import AnalysisException

        if seen_here(self.session):
            return files_of(self.session, folder)
        try:
            listed = self.session.read.format("binaryFile").load(folder).select("path").collect()
        except AnalysisException as error:
            if "PATH_NOT_FOUND" in str(error) or "UNABLE_TO_INFER" in str(error):
                return []
            raise PipelineError(f"cannot list {folder}: {sentence(error)}") from error
        return [row.path.rsplit("/", 1)[-1] for row in listed]

    def lines(self, path: str) -> list[str]:
        """A small file of text; without a job of Spark where its file system can be seen from here."""
        if seen_here(self.session):
            return [line for line in (read_text(self.session, path) or "").split("\n") if line]
        return [row.value for row in self.session.read.text(path).collect()]

    def last_committed(self) -> int | None:
        """The last batch that is whole; None before the first."""
        numbers = [int(name) for name in self.files(f"{self.checkpoint}/commits") if name.isdigit()]
        return max(numbers, default=None)

    def committed_offsets(self) -> dict[str, dict[str, str]]:
        """How far the archive has come, per topic and slot; what lies before is durable."""
        last = self.last_committed()
        if last is None:
            return {}
        found: dict[str, dict[str, str]] = json.loads(self.lines(f"{self.checkpoint}/offsets/{last}")[-1])
        return found

    def compactions(self) -> list[Any]:
        """Rows (topic, date, batch, last): the compacted folder of a day that counts, and the last batch in it."""
        from pyspark.sql import functions as F

        if not self.files(self.compacted):
            return []
        notes = self.session.read.schema("topic string, date string, batch string, last string").json(self.compacted)
        return list(
            notes.groupBy("topic", "date")
            .agg(F.max_by("batch", "last").alias("batch"), F.max("last").alias("last"))
            .collect()
        )

    def read(self) -> DataFrame:
        """Every archived transition once (columns of `schemas.EVENTS`)."""
        from pyspark.sql import functions as F

        schema = ddl(EVENTS) + ", batch string"
        last = self.last_committed()
        if last is None:
            return self.session.createDataFrame([], ddl(EVENTS))
        frame = self.session.read.schema(schema).parquet(self.events)
        plain = ~F.col("batch").contains("-")
        wanted = plain & (F.col("batch") <= batch_name(last))
        compactions = self.compactions()
        if compactions:
            rows = [(row.topic, row.date, row.batch, row.last) for row in compactions]
            notes = self.session.createDataFrame(rows, "topic string, date string, whole string, last string")
            frame = frame.join(F.broadcast(notes), ["topic", "date"], "left")
            later = F.col("last").isNull() | (F.col("batch") > F.col("last"))
            wanted = (wanted & later) | (F.col("batch") == F.col("whole"))
        return frame.where(wanted).select(*(name for name, _, _ in EVENTS))

    def definitions(self) -> list[Topic]:
        """The topics as they were defined when the archive last ran, the newest definition of each."""
        newest: dict[str, tuple[tuple[int, int], str]] = {}
        for name in self.files(self.topics):
            for line in self.lines(f"{self.topics}/{name}") if name.endswith(".json") else ():
                row = json.loads(line)
                age = (row.get("at_ms", 0), row["version"])
                if row["name"] not in newest or newest[row["name"]][0] <= age:
                    newest[row["name"]] = age, row["definition"]
        return [Topic.from_stored(definition) for _, (_, definition) in sorted(newest.items())]

    def keep_definitions(self, topics: list[Topic]) -> None:
        """Writes them beside the events, for a restore into an empty server. What is there stays: a job that is killed
        meanwhile has lost nothing."""
        at_ms = int(time.time() * 1000)
        rows = [(each.name, at_ms, each.version, each.to_json()) for each in topics]
        frame = self.session.createDataFrame(rows, "name string, at_ms long, version long, definition string")
        frame.coalesce(1).write.mode("append").json(self.topics)
