"""What a topic did, in figures: one row per topic, for the report's table and charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmq_core.pipeline.replay import MESSAGE
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COUNTED = (
    *("sent", "merged", "taken", "acked", "retried", "expired", "died", "cancelled", "rescheduled", "requeued"),
    *("dropped", "released", "restored"),
)
CAUSES_MOST = 20
QUANTILES = (0.5, 0.95, 0.99)
ACCURACY = 1000


def topics(events: DataFrame, snapshot_counts: DataFrame) -> DataFrame:
    """One row per topic: ``events``, a count per event, ``merge_ratio``, ``lateness_p50_ms`` … ``end_to_end_p99_ms``,
    ``retries`` (JSON: failures → messages that ended or died with so many), ``causes`` (JSON list: fingerprint, error,
    n), ``slot_skew`` (fullest slot over the mean), ``per_slot`` (JSON: slot → sent), and what the queues hold now:
    ``store``, ``retry``, ``prepare``, ``dead``.
    """
    from pyspark.sql import functions as F

    arrivals = F.col("origin") == "n"
    per_slot = events.groupBy("topic", "slot").agg(
        F.count("*").alias("events"),
        *(F.count(F.when(F.col("event") == name, 1)).alias(name) for name in COUNTED),
        F.count(F.when(arrivals, 1)).alias("arrivals"),
        F.count(F.when(arrivals & (F.col("event") == "merged"), 1)).alias("arrivals_merged"),
    )
    volumes = per_slot.groupBy("topic").agg(
        F.sum("events").alias("events"),
        *(F.sum(name).alias(name) for name in COUNTED if name != "sent"),
        F.sum("arrivals").alias("sent"),
        F.try_divide(F.sum("arrivals_merged"), F.sum("arrivals")).alias("merge_ratio"),
        F.try_divide(F.max("arrivals"), F.avg("arrivals")).alias("slot_skew"),
        F.to_json(F.map_from_entries(F.sort_array(F.collect_list(F.struct("slot", "arrivals"))))).alias("per_slot"),
    )
    return (
        volumes.join(_times(events), "topic", "left")
        .join(_retries(events), "topic", "left")
        .join(_causes(events), "topic", "left")
        .join(snapshot_counts, "topic", "left")
    )


def held_now(books: DataFrame) -> DataFrame:
    """Messages in each queue, per topic. ``books``: see `verdicts.slot_books`."""
    from pyspark.sql import functions as F

    return books.groupBy("topic").agg(
        *(
            F.sum(F.get_json_object("books", f"$.{name}").cast("long")).alias(name)
            for name in ("store", "retry", "prepare", "dead")
        )
    )


def _quantiles(value: Column, name: str) -> list[Column]:
    from pyspark.sql import functions as F

    return [F.percentile_approx(value, q, ACCURACY).alias(f"{name}_p{round(q * 100)}_ms") for q in QUANTILES]


def _times(events: DataFrame) -> DataFrame:
    """Lateness (taken − due) and end to end (done − first sent since the last end), percentiles per topic."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    ms = F.shiftright("position", SEQUENCE_BITS)
    wanted = events.where(F.col("event").isin("sent", "merged", "rescheduled", "taken", "acked"))
    order = Window.partitionBy(*MESSAGE).orderBy("position", "seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, -1)
    facts = wanted.select(*MESSAGE, "position", "seq", "event", "due_ms", ms.alias("ms")).repartition(*MESSAGE)
    sent = F.when(F.col("event") == "sent", F.col("ms"))
    told = facts.select(
        "topic",
        "event",
        "ms",
        F.last("due_ms", ignorenulls=True).over(so_far).alias("due"),
        F.last(sent, ignorenulls=True).over(so_far).alias("sent_ms"),
        F.last("event").over(so_far).alias("before"),
    )
    # A retry is late by design: only the first delivery since the message was given a time counts.
    first = (F.col("event") == "taken") & F.col("before").isin("sent", "merged", "rescheduled")
    lateness = F.when(first, F.greatest(F.col("ms") - F.col("due"), F.lit(0)))
    end_to_end = F.when(F.col("event") == "acked", F.col("ms") - F.col("sent_ms"))
    return told.groupBy("topic").agg(*_quantiles(lateness, "lateness"), *_quantiles(end_to_end, "end_to_end"))


def _retries(events: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    ended = events.where(F.col("event").isin("acked", "died") & F.col("failures").isNotNull())
    counts = ended.groupBy("topic", "failures").agg(F.count("*").alias("n"))
    return counts.groupBy("topic").agg(
        F.to_json(F.map_from_entries(F.sort_array(F.collect_list(F.struct("failures", "n"))))).alias("retries")
    )


def _causes(events: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    died = (
        events.where("event = 'died'")
        .groupBy("topic", "fingerprint")
        .agg(F.count("*").alias("n"), F.max("error").alias("error"), F.max("message").alias("message"))
    )
    listed = F.sort_array(F.collect_list(F.struct("n", "fingerprint", "error", "message")), asc=False)
    return died.groupBy("topic").agg(F.to_json(F.slice(listed, 1, CAUSES_MOST)).alias("causes"))
