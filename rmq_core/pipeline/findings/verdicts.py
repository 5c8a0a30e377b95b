"""Where messages must be × where they are → findings: pure DataFrame transforms.

Every function returns the columns of `schemas.FINDINGS`. Nothing is said of a message that moved while its slot was
read, nor of what a journal with holes in it would have to prove.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from rmq_core.model.scores import RETRIED_MAX, SHIFT
from rmq_core.model.stats import ENDED
from rmq_core.pipeline.findings.places import kind_of_misplaced, with_places
from rmq_core.pipeline.history.replay import MESSAGE, SLOT, entry_of, evidence, ms_of
from rmq_core.pipeline.schemas import COPIES, OWN_CONTENT
from rmq_core.pipeline.small import small

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KINDS = (
    *("lost", "unexpected", "wrong_slot", "missing_content", "altered", "stuck_in_prepare", "overdue"),
    *("orphan_body", "orphan_failure"),
    *("delivered_after_success", "ended_twice", "impossible_transition"),
    *("slot_ledger", "wrong_position", "journal_gap"),
    *("missing_in_queue", "not_done", "not_as_expected", "unknown_to_business"),
)
REPAIRS = ("set_right", "move", "requeue", "requeue_dead", "drop_orphan", "take_stock", "correct_counters", "none")
"""What repairs a finding: its copies are made what the journal says; the same, and the one in the wrong slot goes; it
goes back as at every timeout; a dead letter lives again; the remains go; the journal recounts what the queues
hold, so that it starts again with that; the counters are corrected; nothing does, and the evidence says ``why``.
"""

WHY = {
    "content": "No journal in mode events tells contents, and the pool has this one no more: send it again from where"
    " it came from.",
    "overdue": "Nobody takes it: start workers for the topic.",
    "missing_in_queue": "It was never sent here: whoever owns the ledger must send it.",
    "not_done": "It is on its way, or was taken out by somebody: see what became of it.",
    "not_as_expected": "The journal says something else than the ledger: whoever owns that must say which is right.",
    "orphan": "The journal of its slot does not tell everything, so this may be all that is left of a lost message:"
    " send it again if it was one.",
    "astray": "It is not in its own slot, and the journal of that does not tell everything: this may be all that is"
    " left of it. See whether it must be sent again before you cancel it.",
    "misplaced": "Another finding says where this message belongs: repair that first, and reconcile again.",
    "slot_ledger": "Somebody has added entries to the stream, or taken some out of it, around rmq: nobody knows which."
    " Read its newest entries, and delete what nobody sent; send again what is missing.",
    "wrong_position": "Somebody has moved the group around rmq: what lies between comes again, or was passed by."
    " Set its position in this slot behind the entry that was expected.",
    "unknown_to_business": "It is in order here: whoever owns the ledger must say what it is.",
}
"""Why there is no repair."""

STUCK_MS = 60_000
OVERDUE_MS = 900_000
QUEUES = ("store", "retry", "prepare", "dead")
OF_TIME = ("range-merge", "fixed-time")
"""Kinds in which the score of what waits is its due time; in a group it is the entry's place."""


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
        F.lit(None).cast("binary").alias("repair_data"),
    )


# -- the slots ----------------------------------------------------------------------------------------------------


def slot_ledgers(snapshot: DataFrame) -> DataFrame:
    """Per topic and slot: ``begin`` and ``end`` (positions of the journal around the reading), ``at_ms``, ``gap`` of
    the ledger, ``ledger`` (JSON: counters and queues), ``told``: the journal tells all that was ever counted (1), how
    often the counters were ``corrected``.
    """
    from pyspark.sql import functions as F

    text = F.col("value").cast("string")
    numbers = {name: F.get_json_object("ledger", f"$.{name}").cast("long") for name in QUEUES}
    counter = {
        name: F.coalesce(F.get_json_object("ledger", f"$.counters.{name}").cast("long"), F.lit(0))
        for name in ("sent", "restored", *ENDED)
    }
    gap = counter["sent"] + counter["restored"]
    for name in ENDED:
        gap = gap - counter[name]
    for number in numbers.values():
        gap = gap - number

    def position(edge: str) -> Column:
        return F.get_json_object(edge, "$.newest_at").cast("long")

    return (
        snapshot.where(F.col("part").isin("begin", "end"))
        .groupBy(*SLOT)
        .agg(
            F.max(F.when(F.col("part") == "begin", text)).alias("ledger"),
            F.max(F.when(F.col("part") == "end", text)).alias("ledger_after"),
            F.max("at_ms").alias("at_ms"),
        )
        .select(
            *SLOT,
            "at_ms",
            "ledger",
            position("ledger").alias("begin"),
            position("ledger_after").alias("end"),
            F.get_json_object("ledger_after", "$.journaled").cast("long").alias("journaled"),
            gap.alias("gap"),
            F.get_json_object("ledger", "$.told").cast("long").alias("told"),
            F.get_json_object("ledger", "$.corrected").cast("long").alias("corrected"),
            F.get_json_object("ledger", "$.around").cast("long").alias("around"),
            F.get_json_object("ledger_after", "$.shape").alias("shape"),
            F.get_json_object("ledger_after", "$.writes").cast("boolean").alias("writes"),
        )
    )


def in_a_queue() -> Column:
    """Whether any queue has it."""
    from pyspark.sql import functions as F

    return F.coalesce(*(f"in_{queue}" for queue in QUEUES)).isNotNull()


def where_found() -> Column:
    """The queues it is in, for evidence."""
    from pyspark.sql import functions as F

    return F.array_compact(F.array(*(F.when(F.col(f"in_{queue}").isNotNull(), queue) for queue in QUEUES)))


def ledgers(
    slot_ledgers: DataFrame,
    suspects: DataFrame | None = None,
    streams: Sequence[str] = (),
    miscounted: DataFrame | None = None,
    holes: DataFrame | None = None,
) -> DataFrame:
    """Slots whose counters do not say what their queues hold, beyond what the misplaced messages explain, or not what
    their journal tells (``miscounted``), or of which somebody has spoiled one: it counts nothing, also where that is
    right, and no script can count on from it. Of the running number of a journal (``journaled``) ``holes`` say how far
    it was.

    What is put back, or taken away, balances the ledger again; the rest (``by``) is what a correction is of. Those of
    ``streams`` are not corrected.
    """
    from pyspark.sql import functions as F

    columns = "topic string, slot int, explained long"
    explained = small(slot_ledgers.sparkSession, [], columns)
    if suspects is not None:
        # What was lost with the server, its counters were lost with.
        away = F.when(F.col("with_server"), 0).otherwise(F.size("missing"))
        rows = suspects.where("misplaced IN ('lost', 'unexpected')")
        explained = rows.groupBy(*SLOT).agg(F.sum(away - F.size("extra")).cast("long").alias("explained"))
    if miscounted is None:
        miscounted = small(slot_ledgers.sparkSession, [], "topic string, slot int, counters string")
    if holes is None:
        holes = small(slot_ledgers.sparkSession, [], "topic string, slot int, last_n long")
    reached = holes.groupBy(*SLOT).agg(F.max("last_n").alias("reached_n"))
    unbalanced = (
        slot_ledgers.join(explained, [*SLOT], "left")
        .join(miscounted, [*SLOT], "left")
        .join(reached, [*SLOT], "left")
        .withColumn("by", F.col("gap") - F.coalesce("explained", F.lit(0)))
    )
    told = F.coalesce(F.from_json("counters", "map<string, long>"), F.expr("map()").cast("map<string, long>"))
    spoiled = F.from_json(F.get_json_object("ledger", "$.spoiled"), "array<string>")
    rest = F.array_except(F.coalesce(spoiled, F.expr("array()").cast("array<string>")), F.map_keys(told))
    short = -F.coalesce("reached_n", F.lit(0)).cast("long")
    counted = F.transform(rest, lambda name: F.when(name == "journaled", short).otherwise(F.lit(0).cast("long")))
    every = F.map_concat(told, F.map_from_arrays(rest, counted))
    each = F.when(F.size(every) > 0, every)
    stream = F.col("topic").isin([*streams])
    why = F.when(stream, F.lit(WHY["slot_ledger"]))
    proof = evidence(
        gap=F.col("gap"),
        by=F.col("by"),
        around=F.when(F.col("around") != 0, F.col("around")),
        counters=each,
        corrected=F.col("corrected"),
        ledger=F.col("ledger"),
        why=why,
    )
    repair = F.when(stream, "none").otherwise("correct_counters")
    wrong = unbalanced.where((F.col("by") != 0) | (F.col("around") != 0) | each.isNotNull())
    return found(wrong, "slot_ledger", repair, proof)


# -- the messages ----------------------------------------------------------------------------------------------------


def suspicious(
    messages: DataFrame, slots: DataFrame, topics: DataFrame, stuck_ms: int = STUCK_MS, overdue_ms: int = OVERDUE_MS
) -> DataFrame:
    """Those of the messages of which there is something to say, and what: in one pass, for nearly all are well.

    ``slots``: those whose journal is whole, with their present ``life``, ``lost_lives``, and ``begin``: where the
    snapshot began; what moved after that is not judged. ``topics``: ``kind``, ``journal``, ``visibility_timeout_ms``,
    ``paused``.
    Adds ``impossible``, ``misplaced`` and ``orphaned`` (the kind of finding, or null), ``stuck`` and ``overdue``.
    """
    from pyspark.sql import functions as F

    whole = F.broadcast(slots.select(*SLOT, F.col("life").alias("present"), "begin", "lost_lives"))
    known = messages.join(whole, [*SLOT], "left").join(F.broadcast(topics), "topic", "left")
    alone, pools = ~in_a_queue(), F.lit(False)
    for column in OWN_CONTENT.values():
        pools |= F.col(column).isNotNull()
    taken, timed = (
        F.floor(F.col("in_prepare") / SHIFT),
        F.col("kind").isin(*OF_TIME) & (F.col("in_store") > RETRIED_MAX),
    )
    due = F.coalesce(F.floor(F.col("in_retry") / SHIFT), F.when(timed, F.col("in_store")))
    placed = with_places(
        known.select(
            "*",
            taken.alias("taken_ms"),
            due.alias("since_ms"),
            (taken + F.col("visibility_timeout_ms") + stuck_ms < F.col("read_ms")).alias("stuck"),
        )
    )
    judged = placed.withColumn("misplaced", kind_of_misplaced()).select(
        "*",
        F.when(F.col("present").isNotNull(), F.col("wrong.kind")).alias("impossible"),
        # Of a message that is lost, the remains are what brings it back.
        F.when(F.col("misplaced").isNotNull(), None)
        .when(alone & (F.col("has_body") | pools), "orphan_body")
        .when(alone & F.col("has_failed"), "orphan_failure")
        .alias("orphaned"),
        (F.col("misplaced").isNull() & ~F.col("paused") & (due + overdue_ms < F.col("read_ms"))).alias("overdue"),
        F.monotonically_increasing_id().alias("row"),
    )
    judged = judged.withColumn("stuck", F.col("stuck") & F.col("misplaced").isNull())
    something = "impossible IS NOT NULL OR misplaced IS NOT NULL OR orphaned IS NOT NULL OR stuck OR overdue"
    # Without the number Spark would filter first, and work out everything several times over to do so.
    return judged.where(f"({something}) AND row >= 0").drop("row")


def impossible(suspects: DataFrame) -> DataFrame:
    """The first transition of a message that could not have happened."""
    from pyspark.sql import functions as F

    proof = evidence(
        event=F.col("wrong.event"),
        route=F.concat("wrong.origin", "wrong.target"),
        entry=entry_of(F.col("wrong.position")),
        at_ms=ms_of(F.col("wrong.position")),
        waiting=F.col("wrong.b_waiting"),
        in_flight=F.col("wrong.b_in_flight"),
        dead=F.col("wrong.b_dead"),
    )
    return found(suspects.where("impossible IS NOT NULL"), F.col("impossible"), "take_stock", proof)


def orphans(suspects: DataFrame) -> DataFrame:
    """Bodies and failure records of messages that no queue has; where no journal proves that the message is not lost,
    they may be all that is left of it, and stay."""
    from pyspark.sql import functions as F

    unproved = F.col("present").isNull()
    why = F.when(unproved, F.lit(WHY["orphan"]))
    proof = evidence(queues=where_found(), at_ms=F.col("read_ms"), why=why)
    repair = F.when(unproved, "none").otherwise("drop_orphan")
    return found(suspects.where("orphaned IS NOT NULL"), F.col("orphaned"), repair, proof)


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

    proof = evidence(due_ms=F.col("since_ms"), at_ms=F.col("read_ms"), queues=where_found(), why=F.lit(WHY["overdue"]))
    return found(suspects.where("overdue"), "overdue", "none", proof)


def misplaced(
    suspects: DataFrame, holes: DataFrame | None = None, slots: Mapping[str, int] = MappingProxyType({})
) -> DataFrame:
    """Messages that are not where their journal says, or not as it says; or in the wrong slot.

    An outsider in one slot that is lost in another one is one finding: it lies in the wrong slot. One whose own slot is
    among ``holes`` may be lost there, and nobody knows. ``slots``: how many each topic has.
    """
    from pyspark.sql import functions as F

    session = suspects.sparkSession
    holes = small(session, [], "topic string, slot int") if holes is None else holes
    of = small(session, [*slots.items()], "topic string, slots int")
    unproved = holes.select("topic", F.col("slot").alias("own"), F.lit(True).alias("astray")).distinct()

    judged = suspects.where("misplaced IS NOT NULL").withColumn("outsider", F.col("life").isNull())
    lost = judged.where("misplaced = 'lost'").groupBy("topic", "id").agg(F.min("slot").alias("home"))
    homes = judged.join(lost, ["topic", "id"], "left")
    strays = homes.where("outsider AND home IS NOT NULL")
    moved = strays.select("topic", "id", F.col("home").alias("slot"))
    rest = homes.where("NOT (outsider AND home IS NOT NULL)").join(moved, [*MESSAGE], "left_anti")
    own = F.when(F.col("outsider"), F.pmod(F.crc32("id"), F.col("slots")).cast("int"))
    rest = rest.join(F.broadcast(of), "topic", "left").withColumn("own", own)
    rest = rest.join(F.broadcast(unproved), ["topic", "own"], "left")
    waits, retries = F.array_contains("expected", "waiting"), F.col("queue") == "r"
    due = F.when(retries, F.floor(F.col("waiting_score") / SHIFT)).when(
        F.col("kind").isin(*OF_TIME) & (F.col("waiting_score") > RETRIED_MAX), F.col("waiting_score")
    )
    unknown = unknown_content()
    proof = evidence(
        expected=F.col("expected"),
        found=where_found(),
        missing=F.when(F.size("missing") > 0, F.col("missing")),
        extra=F.when(F.size("extra") > 0, F.col("extra")),
        what=F.when(F.size("what") > 0, F.col("what")),
        queue=F.when(waits, F.col("queue")),
        score=F.when(waits, F.col("waiting_score")),
        priority=F.coalesce("waiting_priority", "in_flight_priority", "dead_priority"),
        due_ms=F.when(waits, due),
        receipt=F.when(F.array_contains("expected", "in_flight"), F.col("in_flight_score")),
        died_ms=F.when(F.array_contains("expected", "dead"), F.col("dead_score")),
        failures=F.coalesce(F.when(waits, F.col("waiting_failures")), "in_flight_failures", "dead_failures"),
        seen=F.when(
            F.size("what") > 0,
            F.to_json(F.struct(*(F.col(f"in_{queue}").alias(queue) for queue in QUEUES), "has_body")),
        ),
        place=F.when(F.array_contains("what", "place"), exactly(F.coalesce("waiting_exact", "waiting_score"))),
        place_found=F.when(F.array_contains("what", "place"), exactly(F.coalesce("exact_store", "in_store"))),
        last_event=F.col("event"),
        last_entry=entry_of(F.col("position")),
        last_ms=ms_of(F.col("position")),
        with_server=F.when(F.col("with_server"), F.lit(True)),
        why=F.when(unknown, F.lit(WHY["content"])).when(F.col("astray"), F.lit(WHY["astray"])),
    )
    helpless = unknown | F.coalesce("astray", F.lit(False))
    wrong = found(strays, "wrong_slot", "move", evidence(home=F.col("home"), found=where_found()))
    return found(rest, F.col("misplaced"), F.when(helpless, "none").otherwise("set_right"), proof).union(wrong)


def exactly(score: Column) -> Column:
    """A score with its place among equals, as text: whoever reads JSON may round a number."""
    from pyspark.sql import functions as F

    return F.rtrim(F.format_string("%.10f", score.cast("double")), F.lit("0"))


def unknown_content() -> Column:
    """Whether nobody knows the content of what is to be put back."""
    from pyspark.sql import functions as F

    lacks, gone = F.lit(False), F.array_contains("what", "no_content")
    for copy in COPIES:
        lacks |= gone & F.coalesce(f"{copy}_stored", F.lit(False))
        lacks |= F.array_contains("missing", copy) & F.col(f"{copy}_content").isNull()
    # What a group has lost, its stream has.
    return lacks & ~F.coalesce("has_body", F.lit(False)) & (F.col("kind") != "stream")
