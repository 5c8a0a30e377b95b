"""The business's own account of what should have been sent or done: how it is read.

A ledger is a table with the columns ``topic`` and ``id`` (the message's id: its key, or its content), and perhaps
``expected``: ``sent`` (also where it is empty), ``done``, another end (``cancelled``, ``expired``, ``dead``), or
``known``, which promises nothing (not yet): the business knows the message, whether or not it has been sent; perhaps
``content_sha256``: of its content; and perhaps ``at``: when. A ledger that says when, or is read with a window, speaks
of that time only, and is complete until its end: a message that was sent before or after is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.pipeline.sentences import sentence
from rmq_core.pipeline.small import small

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

EXPECTED = ("known", "sent", "dead", "expired", "cancelled", "done")
"""What a ledger can expect; of several rows of a message the one that promises most counts, the last of these."""
COLUMNS = frozenset({"topic", "id", "expected", "at", "content_sha256"})
CSV = (".csv", ".csv.gz")
DRIVERS = {"jdbc:postgresql:": "org.postgresql.Driver"}
"""Java finds a driver by the URL only where it knew it from the beginning; by its name also what came by ``--jars``."""
NAMED_MOST = 20
NO_TEXT = "\ufffd"
"""Stands in what was read as UTF-8 for what is none."""
FIRST_MS, LAST_MS = 100_000_000_000, 253_402_300_799_999
"""A moment is in the years 1973 to 9999: what is said in seconds, or in microseconds, would be some other."""


@dataclass(frozen=True)
class Ledger:
    """What a ledger says of the topics of a run: ``rows`` has ``topic``, ``id``, ``expected``, each message once; and
    where the ledger says contents ``contents``: their SHA-256 in hex, none or some.

    ``left_out``: rows of other topics, by topic (of those with most). ``without_id``: rows that name nothing.
    ``since_ms``, ``until_ms``: the time it speaks of, and is complete until, without the end; None: all there is.
    ``windows``: the same by topic, where several ledgers speak of other times. ``topics``: those it names.
    ``promises``: the rows without what was erased from the archive; None: all."""

    rows: DataFrame
    promises: DataFrame | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    left_out_rows: int = 0
    without_id: int = 0
    since_ms: int | None = None
    until_ms: int | None = None
    windows: dict[str, tuple[int | None, int | None]] = field(default_factory=dict)
    topics: tuple[str, ...] = ()

    @property
    def says_contents(self) -> bool:
        """Whether there is something to compare contents with."""
        return "contents" in self.rows.columns

    def within(self, since_ms: int | None, until_ms: int | None) -> Ledger:
        """The same, of another time; None: as it says itself."""
        own = self.since_ms if since_ms is None else since_ms, self.until_ms if until_ms is None else until_ms
        windows = {
            topic: (first if since_ms is None else since_ms, end if until_ms is None else until_ms)
            for topic, (first, end) in self.windows.items()
        }
        return replace(self, since_ms=own[0], until_ms=own[1], windows=windows)

    def windowed(self, frame: DataFrame) -> DataFrame:
        """The frame and, by its ``topic``, ``since_ms`` and ``until_ms``."""
        from pyspark.sql import functions as F

        if not self.windows:
            own = {"since_ms": F.lit(self.since_ms).cast("long"), "until_ms": F.lit(self.until_ms).cast("long")}
            return frame.withColumns(own)
        rows = [(topic, *window) for topic, window in self.windows.items()]
        by_topic = small(frame.sparkSession, rows, "topic string, since_ms long, until_ms long")
        return frame.join(F.broadcast(by_topic), "topic", "left")

    def as_json(self) -> dict[str, Any]:
        """For the report."""
        return {
            "left_out_rows": self.left_out_rows,
            "left_out": self.left_out,
            "without_id": self.without_id,
            "since_ms": self.since_ms,
            "until_ms": self.until_ms,
        }


def read_ledgers(
    session: SparkSession, places: Sequence[str], topics: list[str], defined: list[str] | None = None
) -> Ledger:
    """Several as one, see `read_ledger` and `together`. Raises `PipelineError`."""
    return together([read_ledger(session, where, topics, defined) for where in places])


def together(ledgers: Sequence[Ledger]) -> Ledger:
    """As if their rows stood in one. Of a topic that several name the time is from the earliest to the latest, and all
    there is where one says no time."""
    if len(ledgers) == 1:
        return ledgers[0]
    windows: dict[str, tuple[int | None, int | None]] = {}
    left_out: dict[str, int] = {}
    for each in ledgers:
        for topic in each.topics:
            known = windows.get(topic, (each.since_ms, each.until_ms))
            windows[topic] = _least(known[0], each.since_ms), _most(known[1], each.until_ms)
        for topic, n in each.left_out.items():
            left_out[topic] = left_out.get(topic, 0) + n
    rows = reduce(lambda one, more: one.unionByName(more, allowMissingColumns=True), (each.rows for each in ledgers))
    most = sorted(left_out.items(), key=lambda pair: pair[::-1], reverse=True)
    return Ledger(
        _each_once(rows),
        left_out=dict(most[:NAMED_MOST]),
        left_out_rows=sum(each.left_out_rows for each in ledgers),
        without_id=sum(each.without_id for each in ledgers),
        since_ms=reduce(_least, (first for first, _ in windows.values())) if windows else None,
        until_ms=reduce(_most, (end for _, end in windows.values())) if windows else None,
        windows=windows,
        topics=tuple(windows),
    )


def _least(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else min(one, other)


def _most(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _each_once(rows: DataFrame) -> DataFrame:
    """Each message once, with what promises most of it."""
    from pyspark.sql import functions as F

    promise = F.array_position(F.array(*map(F.lit, EXPECTED)), F.col("expected"))
    expected = F.max_by("expected", promise).alias("expected")
    if "contents" in rows.columns:
        contents = F.array_distinct(F.flatten(F.collect_list("contents"))).alias("contents")
        return rows.groupBy("topic", "id").agg(expected, contents)
    return rows.groupBy("topic", "id").agg(expected)


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
            reader = session.read.format("jdbc").option("url", url).option("dbtable", table)
            for kind, driver in DRIVERS.items():
                reader = reader.option("driver", driver) if url.startswith(kind) else reader
            frame = reader.load()
        elif path.endswith(CSV):
            # As RFC 4180 has it: a quote is doubled, a backslash is a backslash, a field may hold line ends.
            reader = session.read.option("header", "true").option("mode", "FAILFAST").option("escape", '"')
            frame = reader.option("multiLine", "true").csv(where)
        else:
            frame = session.read.parquet(where)
        return checked(frame, topics, shown(where), defined, is_text=path.endswith(CSV))
    except PipelineError:
        raise
    except Exception as error:
        said = sentence(error).replace(url, shown(url))
        if not where.startswith("jdbc:"):
            said = re.sub(r"(?:file:)?" + re.escape(path.rpartition("/")[0] + "/"), "", said)
        if "No suitable driver" in said or any(driver in said for driver in DRIVERS.values()):
            said = "No suitable driver: give Spark the driver of that database,"
            said += ' PYSPARK_SUBMIT_ARGS="--jars driver.jar --driver-class-path driver.jar pyspark-shell"'
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


def checked(
    frame: DataFrame,
    topics: list[str],
    where: str = "ledger",
    defined: list[str] | None = None,
    is_text: bool = False,
) -> Ledger:
    """What a table says as a ledger. ``is_text``: it was read as UTF-8. Raises `PipelineError`."""
    from pyspark.sql import functions as F

    # Many databases tell names in capitals, many programs begin a file with a mark of its encoding.
    plain = {name: name.strip("\ufeff \t").lower() for name in frame.columns}
    frame = frame.toDF(*(plain[name] if plain[name] in COLUMNS else name for name in frame.columns))
    missing = [name for name in ("topic", "id") if name not in frame.columns]
    if missing and is_text and any(sign in "".join(frame.columns) for sign in "\0\ufffd"):  # UTF-16 has one in each
        raise PipelineError(f"the business ledger {where} is not written in UTF-8")
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
        *([_hash(frame, where).alias("content")] if "content_sha256" in frame.columns else []),
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
    if is_text and any(row.no_text for row in mine):
        raise PipelineError(
            f"the business ledger {where} is not written in UTF-8: some of its ids have other bytes. Write it so, or as"
            " Parquet, where an id can be bytes"
        )
    if any(row.strange for row in mine):
        strange = ours.where(~F.col("expected").isin(*EXPECTED)).select("expected").distinct().limit(5).collect()
        raise PipelineError(
            f"the business ledger {where} expects {', '.join(sorted(row.expected for row in strange))};"
            f" it can expect {', '.join(EXPECTED)}"
        )
    if odd := [row.odd for row in mine if row.odd is not None]:
        raise PipelineError(
            f"the business ledger {where} says at {odd[0]!r:.100}; it can say a time as 2027-01-15T10:00:00Z, or in ms"
            " since 1970, in the years 1973 to 9999"
        )
    if wrong := [row.not_a_hash for row in mine if row.not_a_hash is not None]:
        raise PipelineError(
            f"the business ledger {where} says content_sha256 {wrong[0]!r:.100}; it can say the SHA-256 of the content"
            " in hex, 64 digits, or nothing"
        )
    if "content" in ours.columns:
        said = F.when(F.col("content") != "", F.array("content")).otherwise(F.array().cast("array<string>"))
        ours = ours.withColumn("contents", said)
    since = min((row.first_ms for row in mine if row.first_ms is not None), default=None)
    last = max((row.last_ms for row in mine if row.last_ms is not None), default=None)
    return Ledger(
        _each_once(ours),
        left_out={name: n for n, name in others[:NAMED_MOST]},
        left_out_rows=sum(n for n, _ in others),
        without_id=sum(row.without_id for row in mine),
        since_ms=since,
        until_ms=None if last is None else last + 1,
        topics=tuple(name for name, row in counts.items() if name in topics and row.rows > row.without_id),
    )


def _counts(rows: DataFrame, known: set[str]) -> DataFrame:
    """Per known topic (``of``; null: any other), in one pass: ``rows``, those ``without_id``, those of which something
    ``strange`` is expected, those whose id has what is ``no_text``, a time that cannot be read (``odd``), what is
    ``not_a_hash``, and the first and the last time."""
    from pyspark.sql import functions as F

    named = F.col("id").isNotNull()
    timed = "at" in rows.columns
    at_ms = F.when(named, F.col("at_ms")) if timed else F.lit(None).cast("long")
    odd = F.when(named & F.col("at_ms").isNull(), F.col("at")) if timed else F.lit(None).cast("string")
    wrong = (
        F.when(named & ~F.col("content").rlike("^([0-9a-f]{64})?$"), F.col("content"))
        if "content" in rows.columns
        else F.lit(None).cast("string")
    )
    return rows.groupBy(F.when(F.col("topic").isin([*known]), F.col("topic")).alias("of")).agg(
        F.count("*").alias("rows"),
        F.count_if(~named).alias("without_id"),
        F.count_if(named & ~F.col("expected").isin(*EXPECTED)).alias("strange"),
        F.count_if(F.contains("id", F.encode(F.lit(NO_TEXT), "utf-8"))).alias("no_text"),
        F.max(odd).alias("odd"),
        F.max(wrong).alias("not_a_hash"),
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
        # Of a floating number null where it is none, as NaN, or has more digits.
        whole = F.floor(id) if isinstance(kind, T.DecimalType) else id.try_cast("decimal(38,0)")
        text = F.when(whole == id, whole.cast("decimal(38,0)").cast("string")).otherwise(text)
    return F.encode(text, "utf-8")


def _hash(frame: DataFrame, where: str) -> Column:
    """The hashes of contents as hex, "" where there is none."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    kind, hash = frame.schema["content_sha256"].dataType, F.col("content_sha256")
    if isinstance(kind, T.BinaryType):
        hash = F.hex(hash)
    elif not isinstance(kind, T.StringType | T.NullType):
        raise PipelineError(
            f"the column content_sha256 of the business ledger {where} is a {kind.simpleString()}; it must be a text or"
            " bytes"
        )
    return F.coalesce(F.lower(F.trim(hash.cast("string"))), F.lit(""))


def _moment(frame: DataFrame, where: str) -> Column:
    """``at`` in ms; null where it cannot be read, or can be no moment of a message."""
    from pyspark.sql import functions as F

    ms = _read_moment(frame, where)
    return F.when(ms.between(FIRST_MS, LAST_MS), ms)


def _read_moment(frame: DataFrame, where: str) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    kind, at = frame.schema["at"].dataType, F.col("at")
    if isinstance(kind, T.NumericType):
        return at.try_cast("long")
    if isinstance(kind, T.StringType):
        number = F.when(at.rlike(r"^\s*\d{9,18}\s*$"), F.trim(at).cast("long"))
        # A time of day alone would be of the day of the run.
        dated = F.when(at.rlike(r"^\s*\d{4}-\d"), at)
        return F.coalesce(number, F.unix_millis(F.try_to_timestamp(dated)))
    if isinstance(kind, T.DateType | T.TimestampType | T.TimestampNTZType):
        return F.unix_millis(at.cast("timestamp"))
    raise PipelineError(f"the column at of the business ledger {where} is a {kind.simpleString()}; it must be a time")
