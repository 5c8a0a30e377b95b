"""Audit windows: per topic and minute, hour or day what happened, and how long it took.

A table of numbers that are only ever added to (`WINDOWS`): of each window, how often an event happened, and how often
a time (in ms) fell into a bucket. Buckets grow by a factor, so that a time is told within a twentieth, and windows are
merged by adding; what comes late is added where it belongs. A run writes what is new of archived events; whoever reads
adds up (`rmq_core.pipeline.trends`). See ``docs/decisions/245-windows-are-sums.md``.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rmq_core.pipeline import files, trends
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.buckets import COUNTED, GROWTH, KEPT_MS, LATE_MS, MINUTE_MS, SIZES, TIMES
from rmq_core.pipeline.history.replay import SLOT, ms_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WINDOWS = "topic string, size string, start_ms long, name string, bucket int, n long"
"""``size``, ``name``: see `buckets`; ``bucket``: -1 of what is only counted."""

SORTED = ("topic", "size", "start_ms", "name", "bucket")
"""What a row is told from others by; and their order in a file, so that a reader passes by what it does not want."""


def of_news(events: DataFrame, messages: DataFrame) -> DataFrame:
    """`WINDOWS` of archived events, and of the times of messages (`schemas.HISTORIES`), in all sizes."""
    from pyspark.sql import functions as F

    start = F.floor(ms_of(F.col("position")) / MINUTE_MS) * MINUTE_MS
    happened = events.where("archived").select("topic", start.alias("start_ms"), "event", "origin")
    counted = happened.where(F.col("event").isin(*COUNTED) | (F.col("origin") == "n"))
    by_event = counted.groupBy("topic", "start_ms", "event", (F.col("origin") == "n").alias("arrives")).count()
    # A send that merges counts as both. One look at the events: of two filters each would read them.
    names = F.array(F.when(F.col("arrives"), COUNTED[0]), F.when(F.col("event").isin(*COUNTED[1:]), F.col("event")))
    named = by_event.select("topic", "start_ms", F.explode(names).alias("name"), "count").where("name IS NOT NULL")
    counts = named.select("topic", "start_ms", "name", _only(), F.col("count"))
    of_times = messages.where("id IS NULL AND archived")
    several = [
        of_times.select(
            "topic", F.col("minute_ms").alias("start_ms"), F.lit(name).alias("name"), F.explode(name).alias("ms")
        )
        for name in TIMES
    ]
    times = several[0].union(several[1])
    late = times.where(f"name = 'lateness' AND ms > {LATE_MS}").withColumn("name", F.lit("late"))
    buckets = times.select("topic", "start_ms", "name", _bucket(F.col("ms")), F.lit(1).alias("count"))
    rows = counts.union(buckets).union(late.select("topic", "start_ms", "name", _only(), F.lit(1)))
    minutes = rows.groupBy("topic", "start_ms", "name", "bucket").agg(F.sum("count").alias("n"))
    return _sized(minutes).groupBy(*SORTED).agg(F.sum("n").alias("n"))


def added(known: DataFrame, new: DataFrame, now_ms: int) -> DataFrame:
    """Both together, without what is too old to be kept."""
    from pyspark.sql import functions as F

    kept = F.lit(True)
    for size, kept_ms in KEPT_MS.items():
        kept &= (F.col("size") != size) | (F.col("start_ms") >= now_ms - kept_ms)
    return known.unionByName(new).where(kept).groupBy(*SORTED).agg(F.sum("n").alias("n"))


def complete_until(slot_ledgers: DataFrame, journal: DataFrame, reached: DataFrame) -> dict[str, int]:
    """Per topic, until when (ms, of the server's clock) all that happened is archived: where a slot has something that
    is not, until that; else until its queues were read. A quiet slot holds up nobody. ``journal``: read after them."""
    from pyspark.sql import functions as F

    behind = journal.join(F.broadcast(reached), [*SLOT], "left").where("reached IS NULL OR position > reached")
    first = behind.groupBy(*SLOT).agg(F.min(ms_of(F.col("position"))).alias("first_ms"))
    both = slot_ledgers.join(first, [*SLOT], "left")
    until = both.groupBy("topic").agg(F.min(F.least("at_ms", "first_ms")).alias("until_ms"))
    return {row.topic: row.until_ms for row in until.collect()}


def write_index(
    archive: Archive,
    folders: Mapping[str, list[str]],
    spans: Mapping[str, tuple[int, int]],
    unproved: Mapping[str, int],
) -> None:
    """Tells readers where the windows are. ``folders``: of every topic there is; ``spans``: of those that were looked
    at, since when and until when they are complete (ms)."""
    path = f"{archive.path}/{trends.INDEX}"
    try:
        said = json.loads(files.read_text(archive.session, path) or "{}").get("topics", {})
    except (ValueError, AttributeError):
        said = {}
    for topic, (since_ms, complete_ms) in spans.items():
        more = {"since_ms": since_ms, "complete_ms": complete_ms, "unproved": unproved.get(topic, 0)}
        said[topic] = {"folders": folders.get(topic, [])} | more
    kept = {topic: said[topic] for topic in sorted(said.keys() & folders.keys())}
    text = json.dumps({"format": trends.FORMAT, "at_ms": int(time.time() * 1000), "topics": kept})
    files.write_text(archive.session, path, text)


def _only() -> Column:
    from pyspark.sql import functions as F

    return F.lit(-1).alias("bucket")


def _bucket(ms: Column) -> Column:
    """As `buckets.bucket_of`."""
    from pyspark.sql import functions as F

    place = 1 + F.ceil(F.log(ms) / math.log(GROWTH) - 1e-9)
    return F.when(ms <= 0, 0).otherwise(place).cast("int").alias("bucket")


def _sized(minutes: DataFrame) -> DataFrame:
    """Of each row one for every size of window."""
    from pyspark.sql import functions as F

    sizes = F.explode(
        F.array(*(F.struct(F.lit(size).alias("size"), F.lit(ms).alias("ms")) for size, ms in SIZES.items()))
    )
    each = minutes.select("topic", "start_ms", "name", "bucket", "n", sizes.alias("of"))
    start = (F.floor(F.col("start_ms") / F.col("of.ms")) * F.col("of.ms")).cast("long")
    return each.select("topic", F.col("of.size").alias("size"), start.alias("start_ms"), "name", "bucket", "n")
