"""Transitions → where every message must be, beside where it is: pure DataFrame transforms around `histories`.

A slot's history falls into *lives*: one begins where the journal begins, and the slot's past is unknown (`began` with
messages in it) or empty (`began` with none, or the running numbers starting again after everything was lost).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmq_core.journal.entries import EVENTS as KNOWN
from rmq_core.pipeline.histories import LETTER_BITS, LIVE, STEP_BITS, UNKNOWN, histories
from rmq_core.pipeline.schemas import HISTORIES, INLINE, NO_CONTENT, OWN_CONTENT, PARTS, STEPS, UNSAID, ddl
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SLOT = ("topic", "slot")
MESSAGE = ("topic", "slot", "id")
MARKS = ("began", "ended")
COUNTED = (
    *("sent", "merged", "taken", "acked", "retried", "expired", "died", "cancelled", "rescheduled", "requeued"),
    *("dropped", "released", "restored"),
)
_BEHIND_ALL = 2**63 - 1


def with_lives(events: DataFrame) -> DataFrame:
    """Adds ``life``: 0 for what comes before the first `began`, then 1, 2, …"""
    from pyspark.sql import functions as F

    began = events.where(F.col("event") == "began").groupBy(*SLOT).agg(F.sort_array(F.collect_set("position")))
    # A row per slot, small enough to be known here; so the plan can compare with as many beginnings as there are.
    rows = [tuple(row) for row in began.collect()]
    starts = small(events.sparkSession, rows, "topic string, slot int, starts array<long>")
    life: Column = F.lit(0)
    for n in range(max((len(row[2]) for row in rows), default=0)):
        life = life + F.coalesce((F.get("starts", F.lit(n)) <= F.col("position")).cast("int"), F.lit(0))
    return events.join(F.broadcast(starts), [*SLOT], "left").withColumn("life", life).drop("starts")


def accounts(events: DataFrame) -> DataFrame:
    """Per topic, slot and life: what `slots` needs of the journal, and how often what happened. Needs ``life``, and
    ``vouched`` where an archive says what it must hold (see `archived.Archive.reached`).
    """
    from pyspark.sql import functions as F

    counts = events.groupBy(*SLOT, "life", "event", (F.col("origin") == "n").alias("arrives")).agg(
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

    summed = counts.groupBy(*SLOT, "life").agg(
        F.sum("entries").alias("entries"),
        # Rows that an entry has too few or too many of; of older files nobody knows.
        F.when(F.sum("sized") == F.sum("events"), F.sum("sizes") - F.sum("events")).alias("torn"),
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
    return summed.join(_numbers(events), [*SLOT, "life"], "left")


def _numbers(events: DataFrame) -> DataFrame:
    """Per topic, slot and life how many different running numbers there are (``numbers``), and how many of those that
    the archive must hold (``vouched``). Bits, so that it costs next to nothing: counts alone would take one that is
    missing and one that is doubled for none.
    """
    from pyspark.sql import functions as F

    entries = events.where("seq = 0")
    vouched = F.coalesce("vouched", F.lit(False)) if "vouched" in events.columns else F.lit(False)
    bits = entries.groupBy(*SLOT, "life", F.bitmap_bucket_number("n").alias("bucket"), vouched.alias("vouched")).agg(
        F.bitmap_construct_agg(F.bitmap_bit_position("n")).alias("bits")
    )
    buckets = bits.groupBy(*SLOT, "life", "bucket").agg(
        F.bitmap_count(F.bitmap_or_agg("bits")).alias("numbers"),
        F.sum(F.when(F.col("vouched"), F.bitmap_count("bits")).otherwise(0)).alias("vouched"),
    )
    return buckets.groupBy(*SLOT, "life").agg(F.sum("numbers").alias("numbers"), F.sum("vouched").alias("vouched"))


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


def replay(events: DataFrame, snapshot: DataFrame | None = None) -> DataFrame:
    """The messages of the events and the snapshot: `schemas.HISTORIES`. One shuffle, one sort. Needs ``life``."""
    from pyspark.sql import functions as F

    rows = _steps(events)
    if snapshot is not None:
        rows = rows.union(_live(snapshot))
    names = [name for name, _, _ in STEPS]
    # Sorting by a number first is quicker than by texts; these still decide, as two messages may have one number.
    hashed = rows.select(F.xxhash64(*MESSAGE).alias("hash"), *names).repartition("hash")
    ordered = hashed.sortWithinPartitions("hash", *MESSAGE, "position", "seq")
    return ordered.select(*names).mapInArrow(histories, ddl(HISTORIES))


def _steps(events: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    place = F.find_in_set(F.col("event"), F.lit(",".join(KNOWN)))
    event = F.when(place > 0, place - 1).otherwise(UNKNOWN)
    letters = (1 << LETTER_BITS) - 1
    origin, target = (F.ascii(name).bitwiseAND(letters) for name in ("origin", "target"))
    step = F.shiftleft(event, STEP_BITS) + F.shiftleft(origin, LETTER_BITS) + target
    return events.where(~F.col("event").isin(*MARKS)).select(
        *MESSAGE,
        "position",
        "seq",
        F.col("life").cast("int").alias("life"),
        step.cast("int").alias("step"),
        *(F.coalesce(name, F.lit(-1)).cast("long").alias(name) for name in ("score", "due_ms", "priority")),
        F.coalesce("failures", F.lit(-1)).cast("int").alias("failures"),
        F.coalesce("exact", F.lit(float("nan"))).alias("exact"),
        F.when(F.col("body").isNull() & (F.col("origin") == "n") & ~F.coalesce("says", F.lit(False)), UNSAID)
        .otherwise(content_hash(F.col("body")))
        .alias("content"),
        F.col("error").isNotNull().cast("int").alias("failed"),
        # The clock of the change; an entry's id may be some ms later.
        F.coalesce(F.unix_millis("at"), ms_of(F.col("position"))).alias("at_ms"),
    )


def content_hash(body: Column) -> Column:
    """As in `schemas.STEPS`."""
    from pyspark.sql import functions as F

    hashed = F.xxhash64(body)
    # Three values are taken; a hash that happens to be one of them is as good one further.
    apart = F.when(hashed.isin(UNSAID, NO_CONTENT, INLINE), hashed + 7).otherwise(hashed)
    return F.when(body.isNull(), NO_CONTENT).when(F.length(body) == 0, INLINE).otherwise(apart)


def _live(snapshot: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    part, none = F.find_in_set(F.col("part"), F.lit(",".join(PARTS))) - 1, F.lit(-1)
    return snapshot.where((part >= 0) & (F.length("id") > 0)).select(
        *MESSAGE,
        F.lit(_BEHIND_ALL).alias("position"),
        part.cast("int").alias("seq"),
        F.lit(0).alias("life"),
        (part + (LIVE << STEP_BITS)).cast("int").alias("step"),
        F.coalesce("score", none).cast("long").alias("score"),
        F.col("at_ms").alias("due_ms"),
        none.cast("long").alias("priority"),
        none.cast("int").alias("failures"),
        F.coalesce("exact", F.lit(float("nan"))).alias("exact"),
        content_hash(F.when(F.col("part").isin("body", *OWN_CONTENT), F.col("value"))).alias("content"),
        F.lit(0).alias("failed"),
        none.cast("long").alias("at_ms"),
    )


def entry_of(position: Column) -> Column:
    """The stream id that a position stands for."""
    from pyspark.sql import functions as F

    ms, sequence = F.shiftright(position, SEQUENCE_BITS), position.bitwiseAND((1 << SEQUENCE_BITS) - 1)
    return F.concat(ms.cast("string"), F.lit("-"), sequence.cast("string"))


def ms_of(position: Column) -> Column:
    """When the entry at a position was written, in ms."""
    from pyspark.sql import functions as F

    return F.shiftright(position, SEQUENCE_BITS)


def evidence(**columns: Any) -> Column:
    """The evidence of a finding as JSON; what is null is left out."""
    from pyspark.sql import functions as F

    return F.to_json(F.struct(*(column.alias(name) for name, column in columns.items())))
