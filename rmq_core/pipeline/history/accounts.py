"""What a slot's journal tells as a whole: pure DataFrame transforms.

A slot's history falls into *lives*: one begins where the journal begins, and the slot's past is unknown (`began` with
messages in it) or empty (`began` with none, or the running numbers starting again after everything was lost).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmq_core.pipeline.history.cursors import CURSORS, cursors, joined, latest
from rmq_core.pipeline.history.replay import SLOT
from rmq_core.pipeline.small import small

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LIFE = (*SLOT, "life")
COUNTED = (
    *("sent", "merged", "taken", "acked", "retried", "expired", "died", "cancelled", "rescheduled", "requeued"),
    *("dropped", "released", "restored", "lapsed", "duplicate", "outdated"),
)
_SUMS = ("entries", "events", *COUNTED, "arrivals", "arrivals_merged", "numbers", "vouched")
_LEAST, _MOST = ("first_n", "from_position"), ("last_n", "position", "held", "ended")
ACCOUNTS = ", ".join(
    ("topic string, slot int, life int, torn long", *(f"{name} long" for name in (*_SUMS, *_LEAST, *_MOST, *CURSORS)))
)
Starts = dict[tuple[str, int], list[int]]
"""Where a slot's lives but the first began: positions."""


def with_lives(events: DataFrame, starts: Starts | None = None) -> DataFrame:
    """Adds ``life``: 0 for what comes before the first `began`, then 1, 2, … ``starts``: of lives known already."""
    from pyspark.sql import functions as F

    began = events.where(F.col("event") == "began").groupBy(*SLOT).agg(F.collect_set("position").alias("starts"))
    # A row per slot, small enough to be known here; so the plan can compare with as many beginnings as there are.
    known = {slot: set(positions) for slot, positions in (starts or {}).items()}
    for row in began.collect():
        known.setdefault((row.topic, row.slot), set()).update(row.starts)
    rows = [(topic, slot, sorted(positions)) for (topic, slot), positions in known.items()]
    frame = small(events.sparkSession, rows, "topic string, slot int, starts array<long>")
    life: Column = F.lit(0)
    for n in range(max((len(row[2]) for row in rows), default=0)):
        life = life + F.coalesce((F.get("starts", F.lit(n)) <= F.col("position")).cast("int"), F.lit(0))
    return events.join(F.broadcast(frame), [*SLOT], "left").withColumn("life", life).drop("starts")


def accounts(events: DataFrame, *, twice: bool = False, groups: bool = False) -> DataFrame:
    """Per topic, slot and life: what `slots` needs of the journal, and how often what happened. Needs ``life``, and
    ``vouched`` where an archive says what it must hold (see `archived.Archive.reached`).

    ``twice``: once of all events (``closed`` false), and once of those that an archive holds (true). ``groups``:
    whether some are of consumer groups.
    """
    from pyspark.sql import functions as F

    held = [F.col("archived")] if twice else []
    life = [*LIFE, *(["closed"] if twice else [])]
    counts = events.groupBy(*LIFE, "event", (F.col("origin") == "n").alias("arrives"), *held).agg(
        F.count("*").alias("events"),
        F.count(F.when(F.col("seq") == 0, 1)).alias("entries"),
        F.sum(F.when(F.col("seq") == 0, F.col("size"))).alias("sizes"),
        F.count("size").alias("sized"),
        F.min("n").alias("first_n"),
        F.max("n").alias("last_n"),
        F.min("position").alias("from_position"),
        F.max("position").alias("position"),
        F.max("score").alias("score"),
    )

    def counted(where: Column) -> Column:
        return F.sum(F.when(where, F.col("events")).otherwise(0))

    summed = (
        (_twice(counts) if twice else counts)
        .groupBy(*life)
        .agg(
            F.sum("entries").alias("entries"),
            # Rows that an entry has too few or too many of; of older files nobody knows, nor of rows that were forged.
            (F.coalesce(F.sum("sizes"), F.lit(0)) - F.sum("sized")).alias("torn"),
            F.min("first_n").alias("first_n"),
            F.max("last_n").alias("last_n"),
            F.min("from_position").alias("from_position"),
            F.max("position").alias("position"),
            F.max(F.when(F.col("event") == "began", F.col("score"))).alias("held"),
            F.max(F.when(F.col("event") == "ended", F.col("position"))).alias("ended"),
            F.sum("events").alias("events"),
            *(counted(F.col("event") == name).alias(name) for name in COUNTED),
            counted(F.col("arrives")).alias("arrivals"),
            counted(F.col("arrives") & (F.col("event") == "merged")).alias("arrivals_merged"),
        )
    )
    known = summed.join(_numbers(events, life, held), life, "left")
    if not groups:
        return known.select("*", *(F.lit(None).cast("long").alias(name) for name in CURSORS))
    parts = cursors(events, [*LIFE, *(["archived"] if twice else [])])
    return known.join(joined(_twice(parts) if twice else parts, life), life, "left")


def _twice(partial: DataFrame) -> DataFrame:
    """Sums of events as parts of both accounts."""
    from pyspark.sql import functions as F

    both = F.when(F.col("archived"), F.array(F.lit(False), F.lit(True))).otherwise(F.array(F.lit(False)))
    return partial.withColumn("closed", F.explode(both))


def _numbers(events: DataFrame, life: list[str], held: list[Column]) -> DataFrame:
    """Per topic, slot and life how many different running numbers there are (``numbers``), and how many of those that
    the archive must hold (``vouched``). Bits, so that it costs next to nothing: counts alone would take one that is
    missing and one that is doubled for none.
    """
    from pyspark.sql import functions as F

    entries = events.where("seq = 0")
    vouched = F.coalesce("vouched", F.lit(False)) if "vouched" in events.columns else F.lit(False)
    bucket = F.bitmap_bucket_number("n").alias("bucket")
    bits = entries.groupBy(*LIFE, bucket, vouched.alias("vouched"), *held).agg(
        F.bitmap_construct_agg(F.bitmap_bit_position("n")).alias("bits")
    )
    buckets = (
        (_twice(bits) if held else bits)
        .groupBy(*life, "bucket")
        .agg(
            F.bitmap_count(F.bitmap_or_agg("bits")).alias("numbers"),
            F.sum(F.when(F.col("vouched"), F.bitmap_count("bits")).otherwise(0)).alias("vouched"),
        )
    )
    return buckets.groupBy(*life).agg(F.sum("numbers").alias("numbers"), F.sum("vouched").alias("vouched"))


def added(known: DataFrame, new: DataFrame) -> DataFrame:
    """The accounts of both, which have no running number of a life in common (see `overlapping`)."""
    from pyspark.sql import functions as F

    both = known.unionByName(new)
    where = [F.min("placed_at").alias("placed_at"), *latest("cursor_at", "cursor_ms", "cursor_seq")]
    return both.groupBy(*LIFE).agg(
        F.sum("torn").alias("torn"),
        *(F.sum(name).alias(name) for name in _SUMS),
        *(F.min(name).alias(name) for name in _LEAST),
        *(F.max(name).alias(name) for name in _MOST),
        *where,
    )


def overlapping(known: DataFrame, new: DataFrame) -> list[str]:
    """Topics of which a running number comes that was there before: somebody must look at all of them again."""
    from pyspark.sql import functions as F

    before = known.select(*LIFE, F.col("last_n").alias("known_n"))
    twice = new.join(before, [*LIFE]).where("first_n <= known_n")
    return [row.topic for row in twice.select("topic").distinct().collect()]


def starts(accounts: DataFrame) -> Starts:
    """Where the lives of each slot began."""
    found: Starts = {}
    for row in accounts.where("life > 0").select(*SLOT, "from_position").collect():
        found.setdefault((row.topic, row.slot), []).append(row.from_position)
    return found


def lives(accounts: DataFrame) -> DataFrame:
    """Per topic, slot and life: ``reason`` why its journal does not tell everything (null: it does), ``missing`` and
    ``doubled`` numbers, ``after_n`` (before what is missing), ``front`` (only what came first is missing), ``first_n``,
    ``last_n``, ``position`` of its last entry, ``from_position`` of its first, ``held`` when it began, ``wiped``: it
    began because everything was lost, not because the journal had been off.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    in_order = Window.partitionBy(*SLOT).orderBy("life")
    marked = accounts.withColumn("before", F.lag("last_n").over(in_order)).withColumn(
        "next_from", F.lead("from_position").over(in_order)
    )
    missing = F.col("last_n") - F.col("first_n") + 1 - F.coalesce("numbers", F.lit(0))
    doubled = F.col("entries") - F.coalesce("numbers", F.lit(0))
    torn = F.coalesce("torn", F.lit(0))
    # Numbers go on over a pause of the journal, and start again only when everything was lost.
    expected = F.when(F.col("before").isNull() | (F.col("first_n") <= F.col("before")), 1).otherwise(
        F.col("before") + 1
    )
    # What a life began with it says itself, whatever is known of those before.
    late = (F.col("life") == 0) & (F.col("first_n") > expected)
    reason = (
        F.when((missing > 0) | (torn > 0), "missing")
        .when((doubled > 0) | (torn < 0), "doubled")
        .when(late, "missing")
        .when(F.col("held") > 0, "past")
        .when(F.col("ended").isNotNull(), "off")
    )
    whole = marked.select(
        *SLOT,
        "life",
        "next_from",
        reason.alias("reason"),
        (missing + F.when(late, F.col("first_n") - expected).otherwise(0)).alias("missing"),
        doubled.alias("doubled"),
        (expected - 1).alias("after_n"),
        (late & (missing == 0) & (doubled == 0) & (torn == 0)).alias("front"),
        "first_n",
        "last_n",
        "position",
        "from_position",
        F.coalesce("vouched", F.lit(0)).alias("vouched"),
        F.col("before").isNull().alias("first_life"),
        F.coalesce("held", F.lit(0)).alias("held"),
        F.col("ended").isNotNull().alias("ended"),
        F.coalesce(F.col("first_n") <= F.col("before"), F.lit(False)).alias("wiped"),
    )
    return whole.withColumn("next_wiped", F.coalesce(F.lead("wiped").over(in_order), F.lit(False)))


def slots(accounts: DataFrame) -> DataFrame:
    """Per topic and slot the present life, as in `lives`, and ``complete``: its journal tells everything.

    ``lost_lives``: those that ended with everything lost, and whose journals are whole.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    present, slot = Window.partitionBy(*SLOT).orderBy(F.col("life").desc()), Window.partitionBy(*SLOT)
    lost = F.when(F.col("next_wiped") & F.col("reason").isNull(), F.col("life"))
    each = lives(accounts).withColumn("lost_lives", F.collect_list(lost).over(slot))
    latest = each.withColumn("latest", F.row_number().over(present)).where("latest = 1").drop("latest", "next_wiped")
    return latest.withColumn("complete", F.col("reason").isNull())
