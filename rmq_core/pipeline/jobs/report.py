"""Writing what a reconciliation found, and what changed since the one before.

::

    <reports>/<run>/findings/*.parquet      see `schemas.FINDINGS`
    <reports>/<run>/topics/*.parquet        see `figures.topics`
    <reports>/<run>/summary.json            written last: a run without one is not finished
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.pipeline.files import folders as folders_of
from rmq_core.pipeline.files import holding, literally, read_text, remove, tree, write_text
from rmq_core.pipeline.sentences import sentence, text_of, was_interrupted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

log = logging.getLogger("rmq_core.pipeline")

ORDER = ("kind", "topic", "slot", "id")
AT_ONCE = 250_000
"""So many findings, with their bodies, are sorted by one task."""
TABLES, SUMMARY = ("findings", "topics"), "summary.json"
WORK, WHOSE = "work", "namespace"
"""Tables in between, while a report is made; and in a file there, of which namespace it is."""
LEFT_MS = 24 * 3_600_000
"""Whoever has written nothing there for so long was killed."""
GAPS_MOST = 100
LOOKED_AT = 5
"""So many finished reports, the newest, may be the one before; they are not written in the order they began."""
OF_BUSINESS = ("missing_in_queue", "not_done", "not_as_expected", "unknown_to_business")


def name_of_run() -> str:
    """For one that nobody has named: such names sort by time."""
    return time.strftime("%Y%m%dT%H%M%S-", time.gmtime()) + uuid.uuid4().hex[:6]


def remove_left(session: SparkSession, reports: str, run: str) -> None:
    """The tables in between of runs that were killed: all that the queues held, which nobody else removes."""
    until_ms = time.time() * 1000 - LEFT_MS
    for other in holding(session, reports, WORK):
        work = f"{reports}/{other}/{WORK}"
        with suppress(Exception):  # it must not stop this run; the next one tries again
            changed = [at_ms for _, _, at_ms in tree(session, work)]
            if other != run and changed and max(changed) < until_ms:
                remove(session, work)


def write_findings(findings: DataFrame, folder: str, count: int = 0) -> DataFrame:
    """Stores them sorted, over all files in the order of their names, and gives them back as stored. ``count``: so many
    at most; above `AT_ONCE` they are to be stored already, for they are looked at twice."""
    ordered = by_range(findings, count).sortWithinPartitions(*ORDER)
    ordered.write.mode("overwrite").option("maxRecordsPerFile", 1_000_000).parquet(f"{folder}/findings")
    return literally(findings.sparkSession).schema(findings.schema).parquet(f"{folder}/findings")


def by_range(findings: DataFrame, count: int) -> DataFrame:
    """In partitions, one behind the other in `ORDER`, of about `AT_ONCE` findings."""
    parts = -(-count // AT_ONCE)
    return findings.repartitionByRange(parts, *ORDER) if parts > 1 else findings.repartition(1)


def write_topics(topics: DataFrame, folder: str) -> None:
    """Stores the figures, a row per topic."""
    topics.coalesce(1).write.mode("overwrite").parquet(f"{folder}/topics")


def summarize(
    session: SparkSession,
    reports: str,
    run: str,
    started_ms: int,
    findings: DataFrame,
    inputs: dict[str, Any],
    work: str,
    read: dict[str, Any],
) -> dict[str, Any]:
    """Compares with the previous run, writes ``summary.json`` and returns it; removes ``work``. ``read``: of `sums`."""
    counts = {row.kind: row["count"] for row in findings.groupBy("kind").count().collect()}
    holes = findings.where("kind = 'journal_gap'").limit(GAPS_MOST).collect()
    before = previous_runs(session, reports, run, started_ms, inputs["namespace"])
    previous, said = _compared(session, reports, before, findings, inputs)
    summary = {
        "run": run,
        "started_ms": started_ms,
        "finished_ms": int(time.time() * 1000),
        "inputs": inputs,
        "read": read,
        "counts": dict(sorted(counts.items())),
        "findings": sum(counts.values()),
        "complete": "journal_gap" not in counts,
        "gaps": [{"topic": row.topic, "slot": row.slot, **json.loads(row.evidence)} for row in holes],
        "compared_with": previous,
        "changes": said,
    }
    if working_for(session, reports, run) is None:  # and its findings are gone, too
        raise PipelineError(f"{work} was taken away")
    write_text(session, f"{reports}/{run}/{SUMMARY}", json.dumps(summary, indent=1))
    remove(session, work)
    return summary


def _compared(
    session: SparkSession, reports: str, before: list[dict[str, Any]], findings: DataFrame, inputs: dict[str, Any]
) -> tuple[str | None, dict[str, dict[str, int]] | None]:
    """The newest of the runs ``before`` whose findings can be read, and what has changed since (see `changes`). One of
    which they are damaged or gone does not stop this run, and all that follow."""
    for previous in before:
        folder = f"{reports}/{previous['run']}/findings"
        both = comparable(previous["inputs"], inputs)
        try:
            old = literally(session).schema(findings.schema).parquet(folder)
            return previous["run"], changes(old.where(both), findings.where(both))
        except Exception as error:
            if was_interrupted(error) or f"/{previous['run']}/findings" not in text_of(error):
                raise
            log.warning("cannot compare with the run %s: %s", previous["run"], sentence(error))
    return None, None


def comparable(before: dict[str, Any], now: dict[str, Any]) -> Column:
    """Which findings two runs could both have made, by their inputs: what one did not look for is not gone."""
    from pyspark.sql import functions as F

    both = F.col("topic").isin(sorted({*before["topics"]} & {*now["topics"]}))
    return both if before["ledger"] and now["ledger"] else both & ~F.col("kind").isin(*OF_BUSINESS)


def changes(before: DataFrame, now: DataFrame) -> dict[str, dict[str, int]]:
    """Per kind: findings that are new, that are still there, and that are gone."""
    from pyspark.sql import functions as F

    keys = ["kind", "topic", "slot", "id"]
    old = before.select(*keys, F.lit(True).alias("old")).distinct()
    new = now.select(*keys, F.lit(True).alias("new")).distinct()
    same = [old[key].eqNullSafe(new[key]) for key in keys]
    joined = old.join(new, same, "full").select(F.coalesce(old.kind, new.kind).alias("kind"), "old", "new")
    rows = joined.groupBy("kind").agg(
        F.count(F.when(F.col("old").isNull(), 1)).alias("appeared"),
        F.count(F.when(F.col("old") & F.col("new"), 1)).alias("stayed"),
        F.count(F.when(F.col("new").isNull(), 1)).alias("gone"),
    )
    return {row.kind: {"appeared": row.appeared, "stayed": row.stayed, "gone": row.gone} for row in rows.collect()}


def previous_runs(
    session: SparkSession, reports: str, run: str, started_ms: int, namespace: str
) -> list[dict[str, Any]]:
    """The summaries of finished runs of the namespace before this one, the newest first."""
    summaries: list[dict[str, Any]] = []
    for name in folders_of(session, reports):
        if name == run:
            continue
        if len(summaries) == LOOKED_AT:
            break
        with suppress(ValueError, KeyError, TypeError, PipelineError):  # a damaged one does not stop this one
            summary = json.loads(read_text(session, f"{reports}/{name}/{SUMMARY}") or "null")
            if summary and summary["inputs"]["namespace"] == namespace and summary["started_ms"] < started_ms:
                summaries.append(summary | {"run": name})
    return sorted(summaries, key=lambda each: int(each["started_ms"]), reverse=True)


def finished(session: SparkSession, reports: str, namespace: str) -> list[str]:
    """The names of all runs of a namespace that have come to their end."""
    found = []
    for name in folders_of(session, reports):
        with suppress(ValueError, KeyError, TypeError, PipelineError):  # of a damaged one nobody knows whose it is
            text = read_text(session, f"{reports}/{name}/{SUMMARY}")
            if text and json.loads(text)["inputs"]["namespace"] == namespace:
                found.append(name)
    return found


def working_for(session: SparkSession, reports: str, run: str) -> str | None:
    """The namespace whose tables in between a run has; None: it has none, or an older release wrote them."""
    return read_text(session, f"{reports}/{run}/{WORK}/{WHOSE}")
