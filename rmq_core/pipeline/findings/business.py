"""The business's own account of what should have been sent or done, against the journal's.

A ledger is a table with the columns ``topic`` and ``id`` (the message's id: its key, or its content), and perhaps
``expected``: ``sent`` (also where it is empty), ``done``, or ``known``, which promises nothing (not yet): the business
knows the message, whether or not it has been sent; and perhaps ``at``: when. A ledger that says when, or is read with a
window, speaks of that time only: a message that was sent before or after is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.pipeline.findings.verdicts import WHY, found, where_found
from rmq_core.pipeline.history.replay import MARKS, evidence, ms_of
from rmq_core.pipeline.sentences import sentence

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

EXPECTED = ("known", "sent", "done")
"""What a ledger can expect; of several rows of a message the one that promises most counts."""
COLUMNS = frozenset({"topic", "id", "expected", "at"})
CSV = (".csv", ".csv.gz")
NAMED_MOST = 20


@dataclass(frozen=True)
class Ledger:
    """What a ledger says of the topics of a run: ``rows`` has ``topic``, ``id``, ``expected``, each message once.

    ``left_out``: rows of other topics, by topic (of those with most). ``without_id``: rows that name nothing.
    ``since_ms``, ``until_ms``: the time it speaks of, without the end; None: all there is.
    ``promises``: the rows without what was erased from the archive; None: all."""

    rows: DataFrame
    promises: DataFrame | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    left_out_rows: int = 0
    without_id: int = 0
    since_ms: int | None = None
    until_ms: int | None = None

    def as_json(self) -> dict[str, Any]:
        """For the report."""
        return {
            "left_out_rows": self.left_out_rows,
            "left_out": self.left_out,
            "without_id": self.without_id,
            "since_ms": self.since_ms,
            "until_ms": self.until_ms,
        }


def read_ledger(session: SparkSession, where: str, topics: list[str], defined: list[str] | None = None) -> Ledger:
    """From ``jdbc:…#table``, ``*.csv`` with a header (or ``*.csv.gz``), ``*.parquet`` or a folder of it.

    ``topics``: those of the run; ``defined``: all there are. Raises `PipelineError`.
    """
    url, _, table = where.partition("#")
    path = where.rstrip("/")
    if where.startswith("jdbc:") and not table:
        raise PipelineError("a JDBC ledger is written as jdbc:…#table")
    if not where.startswith("jdbc:") and not path.endswith((*CSV, ".parquet")) and "." in path.rpartition("/")[2]:
        raise PipelineError(
            f"the business ledger {shown(where)} is of no known kind; it can be *.csv, *.csv.gz, *.parquet, a folder of"
            " Parquet files or jdbc:…#table"
        )
    try:
        if where.startswith("jdbc:"):
            frame = session.read.format("jdbc").option("url", url).option("dbtable", table).load()
        elif path.endswith(CSV):
            # As RFC 4180 has it: a quote is doubled, a backslash is a backslash, a field may hold line ends.
            reader = session.read.option("header", "true").option("mode", "FAILFAST").option("escape", '"')
            frame = reader.option("multiLine", "true").csv(where)
        else:
            frame = session.read.parquet(where)
        return checked(frame, topics, shown(where), defined)
    except PipelineError:
        raise
    except Exception as error:
        said = sentence(error).replace(url, shown(url))
        if not where.startswith("jdbc:"):
            said = re.sub(r"(?:file:)?" + re.escape(path.rpartition("/")[0] + "/"), "", said)
        if "No suitable driver" in said:
            said += ': give Spark the driver of that database, PYSPARK_SUBMIT_ARGS="--jars driver.jar pyspark-shell"'
        raise PipelineError(f"the business ledger {shown(where)} cannot be read: {said}") from error


def shown(where: str) -> str:
    """A ledger's name: of a file without its folder, which is nobody's business but the server's; of a JDBC URL without
    what it carries of accounts and passwords, in any dialect of these."""
    if not where.startswith("jdbc:"):
        return where.rstrip("/").rpartition("/")[2]
    url, hash, table = where.partition("#")
    head = re.split("[?;]", url, maxsplit=1)[0]
    account, at, host = head.rpartition("@")
    return (f"{':'.join(account.split(':')[:2])}:…@{host}" if at else head) + hash + table


def checked(frame: DataFrame, topics: list[str], where: str = "ledger", defined: list[str] | None = None) -> Ledger:
    """What a table says as a ledger. Raises `PipelineError`."""
    from pyspark.sql import functions as F

    # Many databases tell names in capitals, many programs begin a file with a mark of its encoding.
    plain = {name: name.strip("\ufeff \t").lower() for name in frame.columns}
    frame = frame.toDF(*(plain[name] if plain[name] in COLUMNS else name for name in frame.columns))
    missing = [name for name in ("topic", "id") if name not in frame.columns]
    if missing:
        raise PipelineError(
            f"the business ledger {where} lacks the column(s) {', '.join(missing)}; it has {', '.join(frame.columns)}"
        )
    expected = F.coalesce(F.nullif(F.lower(F.trim(F.col("expected").cast("string"))), F.lit("")), F.lit("sent"))
    rows = frame.select(
        F.col("topic").cast("string"),
        _identity(frame, where).alias("id"),
        (expected if "expected" in frame.columns else F.lit("sent")).alias("expected"),
        *(
            [_moment(frame, where).alias("at_ms"), F.col("at").cast("string").alias("at")]
            if "at" in frame.columns
            else []
        ),
    )
    known = {*topics, *(defined or ())}
    counts = {row.of: row for row in _counts(rows, known).collect()}
    if None in counts:
        undefined = rows.where(F.col("topic").isNull() | ~F.col("topic").isin([*known]))
        names = sorted(str(row.topic) for row in undefined.select("topic").distinct().limit(5).collect())
        raise PipelineError(
            f"the business ledger {where} names topics that are not defined: {', '.join(names)};"
            f" defined are {', '.join(sorted(known))}"
        )
    mine = [row for name, row in counts.items() if name in topics]
    others = sorted(((row.rows, name) for name, row in counts.items() if name not in topics), reverse=True)
    ours = rows.where(F.col("topic").isin(topics) & F.col("id").isNotNull())
    if any(row.strange for row in mine):
        strange = ours.where(~F.col("expected").isin(*EXPECTED)).select("expected").distinct().limit(5).collect()
        raise PipelineError(
            f"the business ledger {where} expects {', '.join(sorted(row.expected for row in strange))};"
            f" it can expect {', '.join(EXPECTED)}"
        )
    if odd := [row.odd for row in mine if row.odd is not None]:
        raise PipelineError(
            f"the business ledger {where} says at {odd[0]!r}; it can say a time as 2027-01-15T10:00:00Z, or in ms since"
            " 1970"
        )
    since = min((row.first_ms for row in mine if row.first_ms is not None), default=None)
    last = max((row.last_ms for row in mine if row.last_ms is not None), default=None)
    promise = F.array_position(F.array(*map(F.lit, EXPECTED)), F.col("expected"))
    each = ours.groupBy("topic", "id").agg(F.max_by("expected", promise).alias("expected"))
    return Ledger(
        each,
        left_out={name: n for n, name in others[:NAMED_MOST]},
        left_out_rows=sum(n for n, _ in others),
        without_id=sum(row.without_id for row in mine),
        since_ms=since,
        until_ms=None if last is None else last + 1,
    )


def _counts(rows: DataFrame, known: set[str]) -> DataFrame:
    """Per known topic (``of``; null: any other), in one pass: ``rows``, those ``without_id``, those of which something
    ``strange`` is expected, a time that cannot be read (``odd``), and the first and the last time."""
    from pyspark.sql import functions as F

    named = F.col("id").isNotNull()
    timed = "at" in rows.columns
    at_ms = F.when(named, F.col("at_ms")) if timed else F.lit(None).cast("long")
    odd = F.when(named & F.col("at_ms").isNull(), F.col("at")) if timed else F.lit(None).cast("string")
    return rows.groupBy(F.when(F.col("topic").isin([*known]), F.col("topic")).alias("of")).agg(
        F.count("*").alias("rows"),
        F.count_if(~named).alias("without_id"),
        F.count_if(named & ~F.col("expected").isin(*EXPECTED)).alias("strange"),
        F.max(odd).alias("odd"),
        F.min(at_ms).alias("first_ms"),
        F.max(at_ms).alias("last_ms"),
    )


def _identity(frame: DataFrame, where: str) -> Column:
    """The ids as bytes, whatever type a table has for them."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    kind, id = frame.schema["id"].dataType, F.col("id")
    if isinstance(kind, T.BinaryType):
        return id
    if isinstance(kind, T.ArrayType | T.MapType | T.StructType):
        raise PipelineError(
            f"the column id of the business ledger {where} is a {kind.simpleString()}; it must be a text, a number or"
            " bytes"
        )
    text = id.cast("string")
    if isinstance(kind, T.DoubleType | T.FloatType | T.DecimalType):  # 12 is 12, not 12.0
        text = F.when(id == F.floor(id), F.floor(id).cast("decimal(38,0)").cast("string")).otherwise(text)
    return F.encode(text, "utf-8")


def _moment(frame: DataFrame, where: str) -> Column:
    """``at`` in ms; null where it cannot be read."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    kind, at = frame.schema["at"].dataType, F.col("at")
    if isinstance(kind, T.NumericType):
        return at.cast("long")
    if isinstance(kind, T.StringType):
        number = F.when(at.rlike(r"^\s*\d{9,18}\s*$"), F.trim(at).cast("long"))
        return F.coalesce(number, F.unix_millis(F.try_to_timestamp(at)))
    if isinstance(kind, T.DateType | T.TimestampType | T.TimestampNTZType):
        return F.unix_millis(at.cast("timestamp"))
    raise PipelineError(f"the column at of the business ledger {where} is a {kind.simpleString()}; it must be a time")


def business(
    ledger: Ledger,
    events: DataFrame,
    here: DataFrame,
    holes: DataFrame | None = None,
    misplaced: DataFrame | None = None,
) -> DataFrame:
    """Messages the business expects and nobody sent or did, and messages of its topics that it does not know.

    ``here``: what the queues hold (columns of `schemas.HISTORIES`). ``holes``: see `gaps.holes`; what may have
    happened in one is not denied. ``misplaced``: messages (``topic``, ``id``) that another finding puts right.
    """
    from pyspark.sql import functions as F

    since, until, ledger_rows = ledger.since_ms, ledger.until_ms, ledger.rows
    if since is not None:  # what a message of that id did before is of another time
        events = events.where(ms_of(F.col("position")) >= since)
    ours = _known(events, here)
    wanted = (ledger.promises or ledger_rows).join(ours.withColumn("seen", F.lit(True)), ["topic", "id"], "left")
    # A dead letter is not done, though an earlier life of the same id may have been.
    undone = (F.col("expected") == "done") & F.col("seen") & (~F.coalesce("done", F.lit(False)) | F.col("is_dead"))
    missing = wanted.where((F.col("expected") != "known") & F.col("seen").isNull())
    late = wanted.where(undone)
    if holes is not None:
        dark = F.broadcast(holes.select("topic", F.coalesce("slot", F.lit(-1)).alias("slot")).distinct())
        missing = missing.join(dark.select("topic").distinct(), "topic", "left_anti")
        proved = late.where("is_dead")
        late = late.where("NOT is_dead").join(dark, ["topic", "slot"], "left_anti").unionByName(proved)
    named = F.broadcast(ledger_rows.select("topic").distinct())
    outsiders = ours.join(named, "topic", "left_semi").join(ledger_rows, ["topic", "id"], "left_anti")
    if since is not None or until is not None:  # only of those is known that they came in that time
        sent = F.col("sent_ms").isNotNull()
        outsiders = outsiders.where(sent if until is None else sent & (F.col("sent_ms") < until))
    late = late.withColumn("misplaced", F.lit(False))
    if misplaced is not None:
        some = F.broadcast(misplaced.select("topic", "id", F.lit(True).alias("misplaced")).distinct())
        late = late.drop("misplaced").join(some, ["topic", "id"], "left").fillna(False, ["misplaced"])
    outsider = F.lit(WHY["unknown_to_business"])
    became = {name: F.col(name) for name in ("queues", "last_event", "last_ms", "error", "message")}
    said = evidence(expected=F.col("expected"), why=F.lit(WHY["missing_in_queue"]))
    repair = F.when(F.col("is_dead") & ~F.col("misplaced"), "requeue_dead").otherwise("none")
    why_not = F.when(F.col("misplaced"), WHY["misplaced"]).when(~F.col("is_dead"), WHY["not_done"])
    return (
        found(missing, "missing_in_queue", "none", said)
        .union(found(late, "not_done", repair, evidence(expected=F.col("expected"), **became, why=why_not)))
        .union(found(outsiders, "unknown_to_business", "none", evidence(done=F.col("done"), **became, why=outsider)))
    )


def _known(events: DataFrame, here: DataFrame) -> DataFrame:
    """Per message of journals or queues: ``slot``, ``done`` (ever), ``is_dead`` (now), ``queues``, and what happened
    to it last: ``last_event``, ``last_ms``; ``error`` and ``message`` of its last failure.
    """
    from pyspark.sql import functions as F

    at = ("position", "seq")
    happened = (
        events.where(~F.col("event").isin(*MARKS) & (F.length("id") > 0))
        .groupBy("topic", "id")
        .agg(
            F.max("slot").alias("slot"),
            F.max(F.col("event") == "acked").alias("done"),
            F.min(F.when(F.col("origin") == "n", ms_of(F.col("position")))).alias("sent_ms"),
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
        "sent_ms",
        F.coalesce("dead_now", F.lit(False)).alias("is_dead"),
        F.coalesce("queues", F.array().cast("array<string>")).alias("queues"),
        F.col("last.event").alias("last_event"),
        ms_of(F.col("last.position")).alias("last_ms"),
        "failure.error",
        "failure.message",
    )
