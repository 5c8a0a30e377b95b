"""What a topic did, in figures: one row per topic, for the report's table and charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmq_core.pipeline.history.accounts import COUNTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CAUSES_MOST = 20
QUANTILES = (0.5, 0.95, 0.99)
ACCURACY = 1000
"""Of a sketch (KLL): the rank it tells is wrong by about a thousandth and a half."""

ENDS = "topic string, event string, failures int, fingerprint string, n long, error string, message string"
SKETCHES = "topic string, name string, sketch binary"
_END = ("topic", "event", "failures", "fingerprint")
TIMES = ("lateness", "end_to_end")


def topics(accounts: DataFrame, ends: DataFrame, sketches: DataFrame, snapshot_counts: DataFrame) -> DataFrame:
    """One row per topic: ``events``, a count per event, ``merge_ratio``, ``lateness_p50_ms`` … ``end_to_end_p99_ms``,
    ``retries`` (JSON: failures → messages that ended or died with so many), ``causes`` (JSON list: fingerprint, error,
    n), ``slot_skew`` (fullest slot over the mean), ``per_slot`` (JSON: slot → sent), and what the queues hold now:
    ``store``, ``retry``, ``prepare``, ``dead``. ``accounts``: see the module of that name.
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
        volumes.join(_percentiles(sketches), "topic", "left")
        .join(_retries(ends), "topic", "left")
        .join(_causes(ends), "topic", "left")
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


def ends(events: DataFrame) -> DataFrame:
    """How messages ended or died, and with which ``error``: `ENDS`, and whether an archive holds it."""
    from pyspark.sql import functions as F

    counted = events.where(F.col("event").isin("acked", "died"))
    return counted.groupBy(*_END, "archived").agg(
        F.count("*").alias("n"), F.max("error").alias("error"), F.max("message").alias("message")
    )


def added_ends(known: DataFrame | None, new: DataFrame) -> DataFrame:
    """Both together, each end once."""
    from pyspark.sql import functions as F

    both = new.drop("archived") if known is None else known.unionByName(new.drop("archived"))
    return both.groupBy(*_END).agg(
        F.sum("n").alias("n"), F.max("error").alias("error"), F.max("message").alias("message")
    )


def sketches(messages: DataFrame) -> DataFrame:
    """The times of messages (`schemas.HISTORIES`), as a sketch for each topic, ``name`` of the time, and whether an
    archive holds it."""
    from pyspark.sql import functions as F

    of_times = messages.where("id IS NULL")
    several = [
        of_times.select("topic", "archived", F.lit(name).alias("name"), F.explode(name).alias("ms")) for name in TIMES
    ]
    grouped = several[0].union(several[1]).groupBy("topic", "name", "archived")
    return grouped.agg(F.kll_sketch_agg_bigint("ms", ACCURACY).alias("sketch"))


def added_sketches(known: DataFrame | None, new: DataFrame) -> DataFrame:
    """Both together, one per topic and time."""
    from pyspark.sql import functions as F

    both = new.drop("archived") if known is None else known.unionByName(new.drop("archived"))
    return both.groupBy("topic", "name").agg(F.kll_merge_agg_bigint("sketch", ACCURACY).alias("sketch"))


def _percentiles(sketches: DataFrame) -> DataFrame:
    """A row per topic."""
    from pyspark.sql import functions as F

    several = [
        F.max(F.when(F.col("name") == name, F.kll_sketch_get_quantile_bigint("sketch", F.lit(q)))).alias(
            f"{name}_p{round(q * 100)}_ms"
        )
        for name in TIMES
        for q in QUANTILES
    ]
    return sketches.groupBy("topic").agg(*several)


def _retries(ends: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    counts = ends.where("failures IS NOT NULL").groupBy("topic", "failures").agg(F.sum("n").alias("n"))
    return counts.groupBy("topic").agg(
        F.to_json(F.map_from_entries(F.sort_array(F.collect_list(F.struct("failures", "n"))))).alias("retries")
    )


def _causes(ends: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    died = (
        ends.where("event = 'died'")
        .groupBy("topic", "fingerprint")
        .agg(F.sum("n").alias("n"), F.max("error").alias("error"), F.max("message").alias("message"))
    )
    listed = F.sort_array(F.collect_list(F.struct("n", "fingerprint", "error", "message")), asc=False)
    return died.groupBy("topic").agg(F.to_json(F.slice(listed, 1, CAUSES_MOST)).alias("causes"))
