"""Where each copy of a message must be, where it is, and whether it is as it must be: pure DataFrame transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmq_core.model.scores import LANE, RETRIED_MAX, SHIFT
from rmq_core.pipeline.schemas import COPIES, INLINE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def with_places(known: DataFrame) -> DataFrame:
    """Adds ``expected``: copies that must be there, ``missing``: of these, what is not, ``extra``: queues that have it
    and must not, ``what``: which values are not what they must be, and ``with_server``: it was lost with everything.
    """
    from pyspark.sql import functions as F

    current = F.coalesce(F.col("life") == F.col("present"), F.lit(False))
    any_copy = F.lit(False)
    for copy in COPIES:
        any_copy |= F.coalesce(F.col(copy) > 0, F.lit(False))
    known = known.withColumn(
        "with_server", F.coalesce(F.array_contains("lost_lives", F.col("life")) & ~current & any_copy, F.lit(False))
    )
    must = {copy: (current | F.col("with_server")) & F.coalesce(F.col(copy) > 0, F.lit(False)) for copy in COPIES}
    there = {
        "waiting": F.coalesce("in_store", "in_retry").isNotNull(),
        "in_flight": F.col("in_prepare").isNotNull(),
        "dead": F.col("in_dead").isNotNull(),
    }

    def listed(**some: Column) -> Column:
        return F.array_compact(F.array(*(F.when(where, F.lit(name)) for name, where in some.items())))

    both = F.col("in_store").isNotNull() & F.col("in_retry").isNotNull()
    extra = listed(
        store=F.col("in_store").isNotNull() & (~must["waiting"] | (both & (F.col("queue") == "r"))),
        retry=F.col("in_retry").isNotNull() & (~must["waiting"] | (both & (F.col("queue") == "s"))),
        prepare=there["in_flight"] & ~must["in_flight"],
        dead=there["dead"] & ~must["dead"],
    )
    return known.select(
        "*",
        listed(**must).alias("expected"),
        listed(**{copy: must[copy] & ~there[copy] for copy in COPIES}).alias("missing"),
        extra.alias("extra"),
        _altered(must, there).alias("what"),
    )


def _altered(must: dict[str, Column], there: dict[str, Column]) -> Column:
    from pyspark.sql import functions as F

    def differs(one: Column, other: Column) -> Column:
        return F.coalesce(one != other, F.lit(False))

    store, retry, taken = F.col("in_store"), F.col("in_retry"), F.col("in_prepare")
    score, receipt = F.col("waiting_score"), F.col("in_flight_score")
    waits, queue = must["waiting"] & there["waiting"], F.col("queue")
    in_store, in_retry = waits & (queue == "s") & store.isNotNull(), waits & (queue == "r") & retry.isNotNull()
    in_flight = must["in_flight"] & there["in_flight"]
    left = (score <= RETRIED_MAX) | (store <= RETRIED_MAX)
    moved = in_store & differs(store, score)
    place, own_place = (
        F.coalesce("exact_store", store.cast("double")),
        F.coalesce("waiting_exact", score.cast("double")),
    )
    in_a_lane = (F.col("kind") == "priority") & (place >= LANE)  # of its tenant: another score
    full, has = F.col("journal") == "full", F.coalesce("has_body", F.lit(False))
    pool = F.when(must["waiting"], F.col("waiting_content")).when(must["in_flight"], F.col("in_flight_content"))
    known, pooled = full & pool.isNotNull(), F.when(has, F.col("body_hash")).otherwise(INLINE)
    # A dead letter has a record of its own; those of older releases have theirs in the pool.
    of_dead, alone = F.col("dead_content"), ~must["waiting"] & ~must["in_flight"]
    dead = F.coalesce("dead_hash", F.when(alone, pooled).otherwise(INLINE))
    known_dead = full & must["dead"] & there["dead"] & of_dead.isNotNull() & dead.isNotNull()
    # In mode events nobody knows what it was.
    stored = F.when(must["waiting"], F.col("waiting_stored")).when(must["in_flight"], F.col("in_flight_stored"))
    stored_dead = must["dead"] & there["dead"] & F.col("dead_stored")
    # What is in flight while another one waits has a content of its own, unless they are equal.
    of_flown, flown = F.col("in_flight_content"), F.coalesce("replaced_hash", pooled)
    known_flown = full & waits & in_flight & of_flown.isNotNull()
    failed = F.coalesce("has_failed", F.lit(False))
    named = {
        "queue": waits & F.when(queue == "s", store.isNull()).otherwise(retry.isNull()),
        "due_ms": (moved & ~left & (F.col("kind") != "priority"))
        | (in_retry & differs(F.floor(retry / SHIFT), F.floor(score / SHIFT))),
        "priority": moved & ~left & (F.col("kind") == "priority"),
        "place": in_store & ~moved & ~left & ~in_a_lane & differs(place, own_place),
        "failures": (moved & left)
        | (in_retry & differs(retry % SHIFT, score % SHIFT))
        | (in_flight & differs(taken % SHIFT, receipt % SHIFT)),
        # Beside a copy in flight the record may be that one's.
        "failure": (waits & ~must["in_flight"] & F.col("waiting_failed_at").isNotNull() & ~failed)
        | (must["dead"] & there["dead"] & F.col("dead_failed_at").isNotNull() & ~failed & F.col("dead_hash").isNull()),
        # How long it is in flight is its own finding.
        "taken_ms": in_flight & ~F.col("stuck") & differs(F.floor(taken / SHIFT), F.floor(receipt / SHIFT)),
        "died_ms": must["dead"] & there["dead"] & differs(F.col("in_dead"), F.col("dead_score")),
        "no_content": (known & (pool != INLINE) & ~has)
        | (known_dead & (of_dead != INLINE) & (dead == INLINE))
        | (known_flown & (of_flown != INLINE) & (flown == INLINE))
        | (F.coalesce(stored, F.lit(False)) & ~has)
        | (F.coalesce(stored_dead, F.lit(False)) & ~has & (dead == INLINE)),
        "content": (known & has & differs(pooled, pool))
        | (known_dead & (dead != INLINE) & differs(dead, of_dead))
        | (known_flown & (flown != INLINE) & differs(flown, of_flown)),
    }
    return F.array_compact(F.array(*(F.when(F.coalesce(where, F.lit(False)), F.lit(n)) for n, where in named.items())))


def kind_of_misplaced() -> Column:
    """lost, unexpected, missing_content, altered, or null: whether a message is where its journal says, as it says."""
    from pyspark.sql import functions as F

    # Nothing is said of what moved while it was read, nor of what had an impossible past.
    still = F.col("wrong").isNull() & (F.col("position").isNull() | (F.col("position") <= F.col("begin")))
    whole = F.col("present").isNotNull()
    return F.when(
        still & whole,
        F.when(F.size("missing") > 0, "lost")
        .when(F.size("extra") > 0, "unexpected")
        .when(F.array_contains("what", "no_content"), "missing_content")
        .when(F.size("what") > 0, "altered"),
    )
