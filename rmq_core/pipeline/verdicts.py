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


# -- the slots ----------------------------------------------------------------------------------------------------


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


def held() -> Column:
    """Whether any queue has it."""
    from pyspark.sql import functions as F

    return F.coalesce(*(f"in_{queue}" for queue in QUEUES)).isNotNull()


def where_found() -> Column:
    """The queues it is in, for evidence."""
    from pyspark.sql import functions as F

    return F.array_compact(F.array(*(F.when(F.col(f"in_{queue}").isNotNull(), queue) for queue in QUEUES)))


def ledgers(books: DataFrame) -> DataFrame:
    """Slots whose counters do not say what their queues hold."""
    from pyspark.sql import functions as F

    wrong = books.where("gap != 0")
    return found(wrong, "slot_ledger", "none", evidence(gap=F.col("gap"), books=F.col("books")))


# -- the messages ----------------------------------------------------------------------------------------------------


def suspicious(
    messages: DataFrame, slots: DataFrame, topics: DataFrame, stuck_ms: int = STUCK_MS, overdue_ms: int = OVERDUE_MS
) -> DataFrame:
    """Those of the messages of which there is something to say, and what: in one pass, for nearly all are well.

    ``slots``: those whose journal is whole, with their present ``life``, ``wiped``, and ``begin``: where the snapshot
    began; what moved after that is not judged. ``topics``: ``kind``, ``visibility_timeout_ms``, ``paused``.
    Adds ``impossible``, ``misplaced`` and ``orphaned`` (the kind of finding, or null), ``stuck`` and ``overdue``.
    """
    from pyspark.sql import functions as F

    whole = F.broadcast(slots.select(*SLOT, F.col("life").alias("present"), "begin", "wiped"))
    told = messages.join(whole, [*SLOT], "left").join(F.broadcast(topics), "topic", "left")
    lonely = ~held()
    taken, timed = (
        F.floor(F.col("in_prepare") / SHIFT),
        (F.col("kind") != "priority") & (F.col("in_store") > RETRIED_MAX),
    )
    due = F.coalesce(F.floor(F.col("in_retry") / SHIFT), F.when(timed, F.col("in_store")))
    judged = told.select(
        "*",
        taken.alias("taken_ms"),
        due.alias("since_ms"),
        F.when(F.col("present").isNotNull(), F.col("wrong.kind")).alias("impossible"),
        F.when(F.col("present").isNotNull(), _misplaced()).alias("misplaced"),
        F.when(lonely & F.col("has_body"), "orphan_body")
        .when(lonely & F.col("has_failed"), "orphan_failure")
        .alias("orphaned"),
        (taken + F.col("visibility_timeout_ms") + stuck_ms < F.col("read_ms")).alias("stuck"),
        (~F.col("paused") & (due + overdue_ms < F.col("read_ms"))).alias("overdue"),
    )
    return judged.where("impossible IS NOT NULL OR misplaced IS NOT NULL OR orphaned IS NOT NULL OR stuck OR overdue")


def _misplaced() -> Column:
    """lost, unexpected, or null: whether a message is where its journal says."""
    from pyspark.sql import functions as F

    current = F.coalesce(F.col("life") == F.col("present"), F.lit(False))
    there = {
        "waiting": F.coalesce("in_store", "in_retry").isNotNull(),
        "flying": F.col("in_prepare").isNotNull(),
        "dead": F.col("in_dead").isNotNull(),
    }
    missing = extra = any_copy = F.lit(False)
    for copy, is_there in there.items():
        copies = F.coalesce(F.col(copy) > 0, F.lit(False))
        missing |= current & copies & ~is_there
        extra |= ~(current & copies) & is_there
        any_copy |= copies
    # What was there when everything was lost, and was not put back since.
    wiped = F.col("wiped") & ~current & any_copy
    still = F.col("wrong").isNull() & (F.col("position").isNull() | (F.col("position") <= F.col("begin")))
    return F.when(still & extra, "unexpected").when(still & (missing | wiped), "lost")


def impossible(suspects: DataFrame) -> DataFrame:
    """The first transition of a message that could not have happened."""
    from pyspark.sql import functions as F

    proof = evidence(
        event=F.col("wrong.event"),
        route=F.concat("wrong.origin", "wrong.target"),
        entry=entry_of(F.col("wrong.position")),
        at_ms=ms_of(F.col("wrong.position")),
        waiting=F.col("wrong.b_waiting"),
        flying=F.col("wrong.b_flying"),
        dead=F.col("wrong.b_dead"),
    )
    return found(suspects.where("impossible IS NOT NULL"), F.col("impossible"), "none", proof)


def orphans(suspects: DataFrame) -> DataFrame:
    """Bodies and failure records of messages that no queue has."""
    from pyspark.sql import functions as F

    proof = evidence(queues=where_found(), at_ms=F.col("read_ms"))
    return found(suspects.where("orphaned IS NOT NULL"), F.col("orphaned"), "drop_orphan", proof)


def stuck(suspects: DataFrame) -> DataFrame:
    """In flight for longer than the visibility timeout and a grace: nobody rolls the slot back."""
    from pyspark.sql import functions as F

    proof = evidence(
        taken_ms=F.col("taken_ms"),
        failures=F.col("in_prepare") % SHIFT,
        visibility_timeout_ms=F.col("visibility_timeout_ms"),
        at_ms=F.col("read_ms"),
        prepare=F.col("in_prepare"),
    )
    return found(suspects.where("stuck"), "stuck_in_prepare", "requeue", proof)


def overdue(suspects: DataFrame) -> DataFrame:
    """Due for long and still waiting, of topics that are not paused."""
    from pyspark.sql import functions as F

    proof = evidence(due_ms=F.col("since_ms"), at_ms=F.col("read_ms"), queues=where_found())
    return found(suspects.where("overdue"), "overdue", "none", proof)


def misplaced(suspects: DataFrame) -> DataFrame:
    """Messages that are not where their journal says: lost, unexpected, or in the wrong slot.

    A stranger in one slot that is lost in another one is one finding: it lies in the wrong slot.
    """
    from pyspark.sql import functions as F

    must_be = F.when(
        (F.col("life") == F.col("present")) | F.col("wiped"),
        F.array_compact(F.array(*(F.when(F.col(copy) > 0, copy) for copy in ("waiting", "flying", "dead")))),
    ).otherwise(F.array().cast("array<string>"))
    judged = suspects.where("misplaced IS NOT NULL").select(
        *(*MESSAGE, "misplaced", "score", "queue", "priority", "failures", "event", "position"),
        F.col("life").isNull().alias("stranger"),
        must_be.alias("expected"),
        where_found().alias("found"),
    )
    lost = judged.where("misplaced = 'lost'").groupBy("topic", "id").agg(F.min("slot").alias("home"))
    homes = judged.join(lost, ["topic", "id"], "left")
    strays = homes.where("stranger AND home IS NOT NULL")
    moved = strays.select("topic", "id", F.col("home").alias("slot"))
    rest = homes.where("NOT (stranger AND home IS NOT NULL)").join(moved, [*MESSAGE], "left_anti")
    proof = evidence(
        expected=F.col("expected"),
        found=F.col("found"),
        queue=F.col("queue"),
        score=F.col("score"),
        priority=F.col("priority"),
        failures=F.col("failures"),
        last_event=F.col("event"),
        last_entry=entry_of(F.col("position")),
        last_ms=ms_of(F.col("position")),
        due_ms=F.when(F.col("queue") == "r", F.floor(F.col("score") / SHIFT)).otherwise(
            F.when((F.col("score") > RETRIED_MAX) & F.col("priority").isNull(), F.col("score"))
        ),
    )
    repair = F.when(F.col("misplaced") == "lost", "send_again").otherwise("none")
    wrong = found(strays, "wrong_slot", "none", evidence(home=F.col("home"), found=F.col("found")))
    return found(rest, F.col("misplaced"), repair, proof).union(wrong)
