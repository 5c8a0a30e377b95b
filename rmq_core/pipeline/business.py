"""The business's own account of what should have been sent or done, against the journal's.

A ledger is a table with the columns ``topic`` and ``id`` (the message's id as text: its key, or its content), and
perhaps ``expected``: ``sent`` (also where it is empty), ``done``, or ``known``, which promises nothing (not yet): the
business knows the message, whether or not it has been sent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmq_core.errors import PipelineError
from rmq_core.pipeline.replay import MARKS, evidence, ms_of
from rmq_core.pipeline.session import sentence
from rmq_core.pipeline.verdicts import found, where_found

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXPECTED = ("known", "sent", "done")
"""What a ledger can expect; of several rows of a message the one that promises most counts."""
COLUMNS = frozenset({"topic", "id", "expected"})
CSV = (".csv", ".csv.gz")


def read_ledger(session: SparkSession, where: str, topics: list[str]) -> DataFrame:
    """From ``jdbc:…#table``, ``*.csv`` with a header (or ``*.csv.gz``), ``*.parquet`` or a folder of it.

    Raises `PipelineError`.
    """
    url, _, table = where.partition("#")
    path = where.rstrip("/")
    if where.startswith("jdbc:") and not table:
        raise PipelineError("a JDBC ledger is written as jdbc:…#table")
    if not where.startswith("jdbc:") and not path.endswith((*CSV, ".parquet")) and "." in path.rpartition("/")[2]:
        raise PipelineError(
            f"the business ledger {where} is of no known kind; it can be *.csv, *.csv.gz, *.parquet, a folder of"
            " Parquet files or jdbc:…#table"
        )
    try:
        if where.startswith("jdbc:"):
            frame = session.read.format("jdbc").option("url", url).option("dbtable", table).load()
        elif path.endswith(CSV):
            frame = session.read.option("header", "true").option("mode", "FAILFAST").csv(where)
        else:
            frame = session.read.parquet(where)
        return checked(frame, topics, shown(where))
    except PipelineError:
        raise
    except Exception as error:
        said = sentence(error).replace(url, shown(url))
        if "No suitable driver" in said:
            said += ': give Spark the driver of that database, PYSPARK_SUBMIT_ARGS="--jars driver.jar pyspark-shell"'
        raise PipelineError(f"the business ledger {shown(where)} cannot be read: {said}") from error


def shown(where: str) -> str:
    """A ledger's place without what a JDBC URL carries of accounts and passwords, in any dialect of these."""
    if not where.startswith("jdbc:"):
        return where
    url, hash, table = where.partition("#")
    head = re.split("[?;]", url, maxsplit=1)[0]
    account, at, host = head.rpartition("@")
    return (f"{':'.join(account.split(':')[:2])}:…@{host}" if at else head) + hash + table


def checked(frame: DataFrame, topics: list[str], where: str = "ledger") -> DataFrame:
    """``topic``, ``id`` (binary), ``expected``, each message once. Raises `PipelineError`."""
    from pyspark.sql import functions as F

    # Many databases tell names in capitals.
    frame = frame.toDF(*(name.lower() if name.lower() in COLUMNS else name for name in frame.columns))
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
            f"the business ledger {where} expects {', '.join(sorted(strange))}; it can expect {', '.join(EXPECTED)}"
        )
    promise = F.array_position(F.array(*map(F.lit, EXPECTED)), F.col("expected"))
    return rows.groupBy("topic", "id").agg(F.max_by("expected", promise).alias("expected"))


def business(ledger: DataFrame, events: DataFrame, here: DataFrame, holes: DataFrame | None = None) -> DataFrame:
    """Messages the business expects and nobody sent or did, and messages of its topics that it does not know.

    ``here``: what the queues hold (columns of `schemas.HISTORIES`). ``holes``: see `gaps.holes`; what may have
    happened in one is not denied.
    """
    from pyspark.sql import functions as F

    ours = _known(events, here)
    wanted = ledger.join(ours.withColumn("seen", F.lit(True)), ["topic", "id"], "left")
    # A dead letter is not done, though an earlier life of the same id may have been.
    undone = (F.col("expected") == "done") & F.col("seen") & (~F.coalesce("done", F.lit(False)) | F.col("is_dead"))
    missing = wanted.where((F.col("expected") != "known") & F.col("seen").isNull())
    late = wanted.where(undone)
    if holes is not None:
        dark = F.broadcast(holes.select("topic", F.coalesce("slot", F.lit(-1)).alias("slot")).distinct())
        missing = missing.join(dark.select("topic").distinct(), "topic", "left_anti")
        proved = late.where("is_dead")
        late = late.where("NOT is_dead").join(dark, ["topic", "slot"], "left_anti").unionByName(proved)
    named = F.broadcast(ledger.select("topic").distinct())
    strangers = ours.join(named, "topic", "left_semi").join(ledger, ["topic", "id"], "left_anti")
    became = {name: F.col(name) for name in ("queues", "last_event", "last_ms", "error", "message")}
    said = evidence(expected=F.col("expected"))
    repair = F.when(F.col("is_dead"), "requeue_dead").otherwise("none")
    return (
        found(missing, "missing_in_queue", "none", said)
        .union(found(late, "not_done", repair, evidence(expected=F.col("expected"), **became)))
        .union(found(strangers, "unknown_to_business", "none", evidence(done=F.col("done"), **became)))
    )


def _known(events: DataFrame, here: DataFrame) -> DataFrame:
    """Per message of journals or queues: ``slot``, ``done`` (ever), ``is_dead`` (now), ``queues``, and what happened
    to it last: ``last_event``, ``last_ms``; ``error`` and ``message`` of its last failure.
    """
    from pyspark.sql import functions as F

    at = ("position", "seq")
    happened = (
        events.where(~F.col("event").isin(*MARKS))
        .groupBy("topic", "id")
        .agg(
            F.max("slot").alias("slot"),
            F.max(F.col("event") == "acked").alias("done"),
            F.max(F.struct(*at, "event")).alias("last"),
            F.max(F.when(F.col("error").isNotNull(), F.struct(*at, "error", "message"))).alias("failure"),
        )
    )
    waiting = here.groupBy("topic", "id").agg(
        F.max("slot").alias("live_slot"),
        F.flatten(F.collect_list(where_found())).alias("queues"),
        F.max(F.col("in_dead").isNotNull()).alias("dead_now"),
    )
    return happened.join(waiting, ["topic", "id"], "full").select(
        "topic",
        "id",
        F.coalesce("live_slot", "slot").alias("slot"),
        "done",
        F.coalesce("dead_now", F.lit(False)).alias("is_dead"),
        F.coalesce("queues", F.array().cast("array<string>")).alias("queues"),
        F.col("last.event").alias("last_event"),
        ms_of(F.col("last.position")).alias("last_ms"),
        "failure.error",
        "failure.message",
    )
