"""Where messages must be × where they are → findings: pure DataFrame transforms.

Every function returns the columns of `schemas.FINDINGS`. Nothing is said of a message that moved while its slot was
read, nor of what a journal with holes in it would have to prove.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmq_core.pipeline.replay import MESSAGE, SLOT, entry_of, evidence, ms_of
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS
from rmq_core.scores import RETRIED_MAX, SHIFT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KINDS = (
    *("lost", "unexpected", "wrong_slot", "stuck_in_prepare", "overdue", "orphan_body", "orphan_failure"),
    *("delivered_after_success", "ended_twice", "impossible_transition", "slot_ledger", "journal_gap"),
    *("missing_in_queue", "not_done", "unknown_to_business"),
)
REPAIRS = ("requeue", "requeue_dead", "send_again", "drop_orphan", "none")

STUCK_MS = 60_000
OVERDUE_MS = 900_000
QUEUES = ("store", "retry", "prepare", "dead")


def found(frame: DataFrame, kind: str | Column, repair: str | Column, proof: Column) -> DataFrame:
    """The columns of a finding."""
    from pyspark.sql import functions as F

    def column(value: str | Column) -> Column:
        return F.lit(value) if isinstance(value, str) else value

    names = set(frame.columns)
    return frame.select(
        column(kind).alias("kind"),
        "topic",
        (F.col("slot") if "slot" in names else F.lit(None)).cast("int").alias("slot"),
        (F.col("id") if "id" in names else F.lit(None)).cast("binary").alias("id"),
        proof.alias("evidence"),
        column(repair).alias("repair"),
    )


# -- the snapshot ----------------------------------------------------------------------------------------------------


def slot_books(snapshot: DataFrame) -> DataFrame:
    """Per topic and slot: ``begin`` and ``end`` (positions of the journal around the reading), ``at_ms``, ``gap`` of
    the ledger, ``books`` (JSON).
    """
    from pyspark.sql import functions as F

    text = F.col("value").cast("string")
    numbers = {name: F.get_json_object("books", f"$.{name}").cast("long") for name in QUEUES}
    counter = {
        name: F.coalesce(F.get_json_object("books", f"$.counters.{name}").cast("long"), F.lit(0))
        for name in ("sent", "restored", "merged", "acked", "cancelled", "dropped")
    }
    gap = counter["sent"] + counter["restored"]
    for name in ("merged", "acked", "cancelled", "dropped"):
        gap = gap - counter[name]
    for number in numbers.values():
        gap = gap - number

    def position(edge: str) -> Column:
        newest = F.get_json_object(edge, "$.newest")
        ms, sequence = F.split(newest, "-")[0], F.split(newest, "-")[1]
        return F.when(newest == "", -1).otherwise(F.shiftleft(ms.cast("long"), SEQUENCE_BITS) + sequence.cast("long"))

    return (
        snapshot.where(F.col("part").isin("begin", "end"))
        .groupBy(*SLOT)
        .agg(
            F.max(F.when(F.col("part") == "begin", text)).alias("books"),
            F.max(F.when(F.col("part") == "end", text)).alias("books_after"),
            F.max("at_ms").alias("at_ms"),
        )
        .select(
            *SLOT,
            "at_ms",
            "books",
            position("books").alias("begin"),
            position("books_after").alias("end"),
            F.get_json_object("books_after", "$.journaled").cast("long").alias("journaled"),
            gap.alias("gap"),
        )
    )


def places(snapshot: DataFrame) -> DataFrame:
    """Per message: its score in each queue it is in, and whether the pools know it. One shuffle."""
    from pyspark.sql import functions as F

    rows = snapshot.where(~F.col("part").isin("begin", "end") & (F.length("id") > 0))
    return rows.groupBy(*MESSAGE).agg(
        *(F.max(F.when(F.col("part") == part, F.col("score"))).alias(part) for part in QUEUES),
        *(F.max(F.col("part") == part).alias(f"has_{part}") for part in ("body", "failed", "priority")),
        F.max("at_ms").alias("at_ms"),
    )


def held() -> Column:
    """Whether any queue has it."""
    from pyspark.sql import functions as F

    return F.coalesce(*(F.col(queue) for queue in QUEUES)).isNotNull()


def where_found() -> Column:
    """The queues it is in, for evidence."""
    from pyspark.sql import functions as F

    return F.array_compact(F.array(*(F.when(F.col(queue).isNotNull(), F.lit(queue)) for queue in QUEUES)))


def orphans(here: DataFrame) -> DataFrame:
    """Bodies and failure records of messages that no queue has."""
    from pyspark.sql import functions as F

    lonely = here.where(~held())
    proof = evidence(queues=where_found(), at_ms=F.col("at_ms"))
    bodies = found(lonely.where("has_body"), "orphan_body", "drop_orphan", proof)
    return bodies.union(found(lonely.where("has_failed AND NOT has_body"), "orphan_failure", "drop_orphan", proof))


def stuck(here: DataFrame, topics: DataFrame, grace_ms: int = STUCK_MS) -> DataFrame:
    """In flight for longer than the visibility timeout and ``grace_ms``: nobody rolls the slot back."""
    from pyspark.sql import functions as F

    taken = F.floor(F.col("prepare") / SHIFT)
    flying = here.where("prepare IS NOT NULL").join(F.broadcast(topics), "topic")
    late = flying.where(taken + F.col("visibility_timeout_ms") + grace_ms < F.col("at_ms"))
    proof = evidence(
        taken_ms=taken,
        failures=F.col("prepare") % SHIFT,
        visibility_timeout_ms=F.col("visibility_timeout_ms"),
        at_ms=F.col("at_ms"),
        prepare=F.col("prepare"),
    )
    return found(late, "stuck_in_prepare", "requeue", proof)


def overdue(here: DataFrame, topics: DataFrame, after_ms: int = OVERDUE_MS) -> DataFrame:
    """Due for longer than ``after_ms`` and still waiting, of topics that are not paused."""
    from pyspark.sql import functions as F

    timed = (F.col("kind") != "priority") & (F.col("store") > RETRIED_MAX)
    due = F.coalesce(F.floor(F.col("retry") / SHIFT), F.when(timed, F.col("store")))
    late = (
        here.join(F.broadcast(topics), "topic")
        .where("NOT paused")
        .withColumn("due_ms", due)
        .where(F.col("due_ms") + after_ms < F.col("at_ms"))
    )
    proof = evidence(due_ms=F.col("due_ms"), at_ms=F.col("at_ms"), queues=where_found())
    return found(late, "overdue", "none", proof)


def ledgers(books: DataFrame) -> DataFrame:
    """Slots whose counters do not say what their queues hold."""
    from pyspark.sql import functions as F

    wrong = books.where("gap != 0")
    return found(wrong, "slot_ledger", "none", evidence(gap=F.col("gap"), books=F.col("books")))


# -- the journal -----------------------------------------------------------------------------------------------------


def impossible(replayed: DataFrame) -> DataFrame:
    """The first transition of a message that could not have happened."""
    from pyspark.sql import functions as F

    wrong = replayed.where("wrong IS NOT NULL")
    proof = evidence(
        event=F.col("wrong.event"),
        route=F.concat("wrong.origin", "wrong.target"),
        entry=entry_of(F.col("wrong.position")),
        at_ms=ms_of(F.col("wrong.position")),
        waiting=F.col("wrong.b_waiting"),
        flying=F.col("wrong.b_flying"),
        dead=F.col("wrong.b_dead"),
    )
    return found(wrong, F.col("wrong.kind"), "none", proof)


def compare(replayed: DataFrame, here: DataFrame, slots: DataFrame) -> DataFrame:
    """Messages that are not where their journal says: lost, unexpected, or in the wrong slot.

    ``slots``: those whose journal is whole, with their present ``life``, ``wiped``, and ``begin``: where the snapshot
    began; what moved after that is not judged. ``replayed``: up to where the snapshot ended.
    """
    from pyspark.sql import functions as F

    whole = F.broadcast(slots.select(*SLOT, F.col("life").alias("present"), "begin", "wiped"))
    both = (
        replayed.withColumnRenamed("priority", "ranked")
        .join(here.withColumnsRenamed({"at_ms": "read_ms", "dead": "dead_score"}), [*MESSAGE], "full")
        .join(whole, [*SLOT])
    )
    current = F.col("life") == F.col("present")
    expected = {
        copy: F.coalesce(F.when(current & (F.col(copy) > 0), True), F.lit(False))
        for copy in ("waiting", "flying", "dead")
    }
    there = {
        "waiting": F.coalesce("store", "retry").isNotNull(),
        "flying": F.col("prepare").isNotNull(),
    }
    # `dead` is the name of a count in the journal's account and of a score in the snapshot's.
    is_dead = F.col("dead_score").isNotNull()
    both = both.where("wrong IS NULL AND (position IS NULL OR position <= begin)")
    missing = (
        (expected["waiting"] & ~there["waiting"])
        | (expected["flying"] & ~there["flying"])
        | (expected["dead"] & ~is_dead)
    )
    extra = (
        (~expected["waiting"] & there["waiting"])
        | (~expected["flying"] & there["flying"])
        | (~expected["dead"] & is_dead)
    )
    # What was there when everything was lost, and was not put back since.
    wiped = (
        F.col("wiped")
        & ~current
        & (F.coalesce("waiting", F.lit(0)) + F.coalesce("flying", F.lit(0)) + F.coalesce("dead", F.lit(0)) > 0)
    )
    must_be = F.when(
        current | wiped,
        F.array_compact(
            F.array(
                *(F.when(F.col(copy) > 0, F.lit(copy)) for copy in ("waiting", "flying", "dead")),
            )
        ),
    ).otherwise(F.array().cast("array<string>"))
    is_in = F.array_compact(
        F.array(
            F.when(F.col("store").isNotNull(), F.lit("store")),
            F.when(F.col("retry").isNotNull(), F.lit("retry")),
            F.when(F.col("prepare").isNotNull(), F.lit("prepare")),
            F.when(is_dead, F.lit("dead")),
        )
    )
    judged = both.select(
        *MESSAGE,
        F.when(extra, "unexpected").when(missing | wiped, "lost").alias("kind"),
        F.col("life").isNull().alias("stranger"),
        must_be.alias("expected"),
        is_in.alias("found"),
        *("score", "queue", "ranked", "failures", "event", "position"),
    ).where("kind IS NOT NULL")
    return _across_slots(judged)


def _across_slots(judged: DataFrame) -> DataFrame:
    """A stranger in one slot that is lost in another one is one finding: it lies in the wrong slot."""
    from pyspark.sql import functions as F

    lost = judged.where("kind = 'lost'").select(
        "topic", "id", F.col("slot").alias("home"), F.col("expected").alias("due")
    )
    homes = lost.groupBy("topic", "id").agg(F.min("home").alias("home"))
    strays = judged.where("stranger").join(homes, ["topic", "id"])
    moved = strays.select("topic", "id", F.col("home").alias("slot"), F.lit(True).alias("strayed"))
    rest = (
        judged.join(homes, ["topic", "id"], "left")
        .where("NOT (stranger AND home IS NOT NULL)")
        .join(moved, ["topic", "slot", "id"], "left")
        .where("strayed IS NULL")
    )
    proof = evidence(
        expected=F.col("expected"),
        found=F.col("found"),
        queue=F.col("queue"),
        score=F.col("score"),
        priority=F.col("ranked"),
        failures=F.col("failures"),
        last_event=F.col("event"),
        last_entry=entry_of(F.col("position")),
        last_ms=ms_of(F.col("position")),
        due_ms=F.when(F.col("queue") == "r", F.floor(F.col("score") / SHIFT)).otherwise(
            F.when((F.col("score") > RETRIED_MAX) & F.col("ranked").isNull(), F.col("score"))
        ),
    )
    repair = F.when(F.col("kind") == "lost", "send_again").otherwise("none")
    wrong = found(strays, "wrong_slot", "none", evidence(home=F.col("home"), found=F.col("found")))
    return found(rest, F.col("kind"), repair, proof).union(wrong)
