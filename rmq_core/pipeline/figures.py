"""What a topic did, in figures: one row per topic, for the report's table and charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmq_core.pipeline.replay import COUNTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CAUSES_MOST = 20
QUANTILES = (0.5, 0.95, 0.99)
ACCURACY = 1000


def topics(accounts: DataFrame, messages: DataFrame, events: DataFrame, snapshot_counts: DataFrame) -> DataFrame:
    """One row per topic: ``events``, a count per event, ``merge_ratio``, ``lateness_p50_ms`` … ``end_to_end_p99_ms``,
    ``retries`` (JSON: failures → messages that ended or died with so many), ``causes`` (JSON list: fingerprint, error,
    n), ``slot_skew`` (fullest slot over the mean), ``per_slot`` (JSON: slot → sent), and what the queues hold now:
    ``store``, ``retry``, ``prepare``, ``dead``. ``accounts``, ``messages``: see `replay`.
    """
    from pyspark.sql import functions as F

    counted = ("events", *COUNTED, "arrivals", "arrivals_merged")
    per_slot = accounts.groupBy("topic", "slot").agg(*(F.sum(name).alias(name) for name in counted))
    volumes = per_slot.groupBy("topic").agg(
        F.sum("events").alias("events"),
        *(F.sum(name).alias(name) for name in COUNTED if name != "sent"),
        F.sum("arrivals").alias("sent"),
        F.try_divide(F.sum("arrivals_merged"), F.sum("arrivals")).alias("merge_ratio"),
        F.try_divide(F.max("arrivals"), F.avg("arrivals")).alias("slot_skew"),
        F.to_json(F.map_from_entries(F.sort_array(F.collect_list(F.struct("slot", "arrivals"))))).alias("per_slot"),
    )
    return (
        volumes.join(_times(messages, "lateness"), "topic", "left")
        .join(_times(messages, "end_to_end"), "topic", "left")
        .join(_retries(events), "topic", "left")
        .join(_causes(events), "topic", "left")
        .join(snapshot_counts, "topic", "left")
    )


def held_by_slots(slot_ledgers: DataFrame) -> DataFrame:
    """Messages in each queue, per topic. ``slot_ledgers``: see `verdicts.slot_ledgers`."""
    from pyspark.sql import functions as F

    return slot_ledgers.groupBy("topic").agg(
        *(
            F.sum(F.get_json_object("ledger", f"$.{name}").cast("long")).alias(name)
            for name in ("store", "retry", "prepare", "dead")
        )
    )


def _times(messages: DataFrame, name: str) -> DataFrame:
    """Percentiles per topic."""
    from pyspark.sql import functions as F

    values = messages.select("topic", F.explode(name).alias("ms")).groupBy("topic")
    each_topic = values.agg(F.percentile_approx("ms", list(QUANTILES), ACCURACY).alias("quantiles"))
    several = (F.get("quantiles", F.lit(i)).alias(f"{name}_p{round(q * 100)}_ms") for i, q in enumerate(QUANTILES))
    return each_topic.select("topic", *several)


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
