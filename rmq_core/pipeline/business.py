"""The business's own account of what should have been sent or done, against the journal's.

A ledger is a table with the columns ``topic`` and ``id`` (the message's id as text: its key, or its content), and
perhaps ``expected``: ``sent`` (also where it is empty) or ``done``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmq_core.errors import PipelineError
from rmq_core.pipeline.replay import evidence
from rmq_core.pipeline.session import sentence
from rmq_core.pipeline.verdicts import found

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXPECTED = ("sent", "done")


def read_ledger(session: SparkSession, where: str, topics: list[str]) -> DataFrame:
    """From ``jdbc:…#table``, ``*.parquet`` (or a folder of it), else CSV with a header. Raises `PipelineError`."""
    url, _, table = where.partition("#")
    if where.startswith("jdbc:") and not table:
        raise PipelineError("a JDBC ledger is written as jdbc:…#table")
    try:
        if where.startswith("jdbc:"):
            frame = session.read.format("jdbc").option("url", url).option("dbtable", table).load()
        elif where.rstrip("/").endswith(".csv"):
            frame = session.read.option("header", "true").option("mode", "FAILFAST").csv(where)
        else:
            frame = session.read.parquet(where)
    except Exception as error:
        raise PipelineError(f"the business ledger {_shown(where)} cannot be read: {sentence(error)}") from error
    return checked(frame, topics, _shown(where))


def _shown(where: str) -> str:
    return where.partition("?")[0]  # a JDBC URL carries its password behind that


def checked(frame: DataFrame, topics: list[str], where: str = "ledger") -> DataFrame:
    """``topic``, ``id`` (binary), ``expected``, each message once. Raises `PipelineError`."""
    from pyspark.sql import functions as F

    missing = [name for name in ("topic", "id") if name not in frame.columns]
    if missing:
        raise PipelineError(
            f"the business ledger {where} lacks the column(s) {', '.join(missing)}; it has {', '.join(frame.columns)}"
        )
    expected = F.coalesce(F.nullif(F.lower(F.col("expected").cast("string")), F.lit("")), F.lit("sent"))
    rows = frame.select(
        F.col("topic").cast("string"),
        F.when(F.lit(dict(frame.dtypes)["id"] == "binary"), F.col("id").cast("binary"))
        .otherwise(F.encode(F.col("id").cast("string"), "utf-8"))
        .alias("id"),
        (expected if "expected" in frame.columns else F.lit("sent")).alias("expected"),
    ).where("id IS NOT NULL")
    unknown = rows.where(~F.col("topic").isin(topics) | F.col("topic").isNull()).select("topic").distinct().limit(5)
    names = [str(row.topic) for row in unknown.collect()]
    if names:
        raise PipelineError(
            f"the business ledger {where} names topics that are not defined: {', '.join(sorted(names))};"
            f" defined are {', '.join(topics)}"
        )
    strange = [
        str(row.expected)
        for row in rows.where(~F.col("expected").isin(*EXPECTED)).select("expected").distinct().limit(5).collect()
    ]
    if strange:
        raise PipelineError(
            f"the business ledger {where} expects {', '.join(sorted(strange))}; it can expect {' or '.join(EXPECTED)}"
        )
    return rows.groupBy("topic", "id").agg(F.min("expected").alias("expected"))


def business(ledger: DataFrame, events: DataFrame, here: DataFrame) -> DataFrame:
    """Messages the business expects and nobody sent or did, and messages of its topics that it does not know."""
    from pyspark.sql import functions as F

    done = (
        events.where(~F.col("event").isin("began", "ended"))
        .groupBy("topic", "id")
        .agg(F.max("slot").alias("slot"), F.max(F.col("event") == "acked").alias("done"))
    )
    waiting = here.groupBy("topic", "id").agg(F.max("slot").alias("live_slot"))
    ours = done.join(waiting, ["topic", "id"], "full")
    seen = ours.withColumn("known", F.lit(True)).withColumn("slot", F.coalesce("slot", "live_slot"))
    wanted = ledger.join(seen, ["topic", "id"], "left")
    said = evidence(expected=F.col("expected"))
    missing = found(wanted.where("known IS NULL"), "missing_in_queue", "none", said)
    undone = wanted.where("known AND expected = 'done' AND NOT coalesce(done, false)")
    named = F.broadcast(ledger.select("topic").distinct())
    strangers = seen.join(named, "topic", "left_semi").join(ledger, ["topic", "id"], "left_anti")
    told = evidence(done=F.col("done"))
    return missing.union(found(undone, "not_done", "none", said)).union(
        found(strangers, "unknown_to_business", "none", told)
    )
