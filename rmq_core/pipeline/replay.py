"""Transitions → where every message must be: pure DataFrame transforms.

A message has at most one copy that waits (store or retry), one in flight (prepare) and one that is dead. Every
transition takes a copy from one of these and puts one into another, so sums give where the copies are, and running
sums in the journal's order show the first transition that could not have happened.

A slot's history falls into *lives*: one begins where the journal begins, and the slot's past is unknown (`began` with
messages in it) or empty (`began` with none, or the running numbers starting again after everything was lost).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SLOT = ("topic", "slot")
MESSAGE = ("topic", "slot", "id")
COPIES = ("waiting", "flying", "dead")
_LETTERS = {"waiting": ("s", "r"), "flying": ("p",), "dead": ("d",)}
MARKS = ("began", "ended")
ENDS = ("acked", "dropped", "cancelled")


def with_lives(events: DataFrame) -> DataFrame:
    """Adds ``life``: 0 for what comes before the first `began`, then 1, 2, …"""
    from pyspark.sql import functions as F

    starts = (
        events.where(F.col("event") == "began")
        .groupBy(*SLOT)
        .agg(F.sort_array(F.collect_set("position")).alias("starts"))
    )
    joined = events.join(F.broadcast(starts), [*SLOT], "left")
    counted = F.size(F.filter("starts", lambda start: start <= F.col("position")))
    return joined.withColumn("life", F.when(F.col("starts").isNull(), 0).otherwise(counted)).drop("starts")


def slots(events: DataFrame) -> DataFrame:
    """Per topic and slot: ``life`` (the present one), ``complete``, ``reason`` (why not), ``after_n`` (before what is
    missing), ``front`` (only what came first is missing), ``first_n``, ``last_n``, ``position`` of its last entry,
    ``held`` when the life began, ``wiped``: it began because everything was lost, not because the journal had been
    off. Needs ``life``.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    entry = F.col("seq") == 0
    per_life = events.groupBy(*SLOT, "life").agg(
        F.count(F.when(entry, 1)).alias("entries"),
        F.min("n").alias("first_n"),
        F.max("n").alias("last_n"),
        F.max("position").alias("position"),
        F.max(F.when(F.col("event") == "began", F.col("score"))).alias("held"),
        F.max(F.when(F.col("event") == "ended", F.col("position"))).alias("ended"),
    )
    previous = Window.partitionBy(*SLOT).orderBy("life")
    present = Window.partitionBy(*SLOT).orderBy(F.col("life").desc())
    marked = (
        per_life.withColumn("before", F.lag("last_n").over(previous))
        .withColumn("latest", F.row_number().over(present))
        .where("latest = 1")
    )
    missing = F.col("last_n") - F.col("first_n") + 1 - F.col("entries")
    # Numbers go on over a pause of the journal, and begin anew only when everything was lost.
    expected = F.when(F.col("before").isNull() | (F.col("first_n") <= F.col("before")), 1).otherwise(
        F.col("before") + 1
    )
    # What a life began with it says itself, whatever is known of those before.
    late = (F.col("life") == 0) & (F.col("first_n") > expected)
    reason = (
        F.when(missing > 0, "missing")
        .when(missing < 0, "doubled")
        .when(late, "missing")
        .when(F.col("held") > 0, "past")
        .when(F.col("ended").isNotNull(), "off")
    )
    return marked.select(
        *SLOT,
        "life",
        reason.isNull().alias("complete"),
        reason.alias("reason"),
        (expected - 1).alias("after_n"),
        (late & (missing == 0)).alias("front"),
        "first_n",
        "last_n",
        "position",
        F.coalesce("held", F.lit(0)).alias("held"),
        F.coalesce(F.col("first_n") <= F.col("before"), F.lit(False)).alias("wiped"),
    )


def moves(copy: str) -> Column:
    """What a transition does to the number of copies of one kind: -1, 0 or 1."""
    from pyspark.sql import functions as F

    letters = list(_LETTERS[copy])
    leaves, comes = F.col("origin").isin(letters), F.col("target").isin(letters)
    merges = F.col("event") == "merged"
    # A merge changes the score of the one that is there, so nothing comes; and what merges within a queue is one less.
    return F.when(leaves & (~comes | merges), -1).when(comes & ~leaves & ~merges, 1).otherwise(0).cast("int")


def replay(events: DataFrame) -> DataFrame:
    """Per message of the events: its copies now and what is known of them. Needs ``life``; one shuffle, one sort.

    ``waiting``, ``flying``, ``dead``: copies after the last transition. ``wrong``: the first transition that could not
    have happened (struct), null where all could. ``waits``: struct of score and queue it came to wait with last.
    ``priority``: the last it was given; ``failures``. ``life``, ``position``, ``event``: of its last transition.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    facts = events.where(~F.col("event").isin(*MARKS))
    moved = facts.select(
        *(*MESSAGE, "position", "seq", "life", "event", "origin", "target", "score", "priority", "failures"),
        *(moves(copy).alias(f"d_{copy}") for copy in COPIES),
    ).repartition(*MESSAGE)
    # A new life begins with nothing: what was there before does not carry over.
    order = Window.partitionBy(*MESSAGE, "life").orderBy("position", "seq")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    running = moved.select(
        "*",
        *(F.coalesce(F.sum(f"d_{copy}").over(before), F.lit(0)).cast("int").alias(f"b_{copy}") for copy in COPIES),
        F.coalesce(F.max(F.col("event") == "acked").over(before), F.lit(False)).alias("was_acked"),
        F.coalesce(F.max(F.col("event").isin(*ENDS)).over(before), F.lit(False)).alias("was_ended"),
    )
    at = (F.col("position"), F.col("seq"))
    after = [(F.col(f"b_{copy}") + F.col(f"d_{copy}")).alias(copy) for copy in COPIES]
    waits = F.col("target").isin("s", "r") & (F.col("score") > 0)
    found = (
        running.withColumn("kind", _wrong())
        .groupBy(*MESSAGE)
        .agg(
            F.max(F.struct(*at, *after, "event", "life")).alias("now"),
            F.min(
                F.when(
                    F.col("kind").isNotNull(),
                    F.struct(*at, *("kind", "event", "origin", "target", "life", "b_waiting", "b_flying", "b_dead")),
                )
            ).alias("wrong"),
            F.max(F.when(waits, F.struct(*at, "score", F.col("target").alias("queue")))).alias("waits"),
            F.max(F.when(F.col("priority").isNotNull(), F.struct(*at, "priority"))).alias("ranked"),
            F.max(F.when(F.col("failures").isNotNull(), F.struct(*at, "failures"))).alias("failing"),
        )
    )
    return found.select(
        *MESSAGE,
        *(f"now.{name}" for name in (*COPIES, "event", "life", "position")),
        "wrong",
        F.col("waits.score").alias("score"),
        F.col("waits.queue").alias("queue"),
        F.col("ranked.priority").alias("priority"),
        F.col("failing.failures").alias("failures"),
    )


def _wrong() -> Column:
    """What is wrong with a transition, given the copies before it; null where nothing is."""
    from pyspark.sql import functions as F

    none_there = (
        (F.col("origin").isin("s", "r") & (F.col("b_waiting") < 1))
        | ((F.col("origin") == "p") & (F.col("b_flying") < 1))
        | ((F.col("origin") == "d") & (F.col("b_dead") < 1))
    )
    one_too_many = ((F.col("d_waiting") > 0) & (F.col("b_waiting") > 0)) | (
        (F.col("d_flying") > 0) & (F.col("b_flying") > 0)
    )
    return (
        F.when(none_there & F.col("was_acked") & (F.col("event") == "taken"), "delivered_after_success")
        .when(none_there & F.col("was_ended") & F.col("event").isin(*ENDS), "ended_twice")
        .when(none_there | one_too_many, "impossible_transition")
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
