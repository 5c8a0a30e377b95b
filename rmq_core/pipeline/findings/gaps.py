"""Where journals do not tell everything: found slot by slot, reported once where the cause is the topic's.

Of a slot with a gap nothing is claimed that its journal would have to prove.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmq_core.pipeline.findings.verdicts import found
from rmq_core.pipeline.history.replay import SLOT, evidence, ms_of
from rmq_core.pipeline.small import small

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

READERS = "topic string, slot int, committed long, readers string, elsewhere boolean"
"""Per slot: the last number that every durable reader of its journal has committed, who they are, and whether one of
them is an archive that this run was not given.
"""

REACHED = "topic string, slot int, reached long, reached_n long, since long"
"""Per slot: how far the archive has come, as a position and as a running number, and since which number it must hold
every one of them; null: an older release wrote it, nobody knows.
"""

WIDE = ("trimmed", "elsewhere", "past", "off", "reshaped", "undefined")
"""Reasons that lie in how a topic is run, not in what happened to one slot."""

DEFINED = "topic string, defined string, journaled_here boolean, created_ms long"
"""Per topic the mark of its shape that its slots must have (null: not known), whether its journal is on, and since when
it is there."""

_AFRESH = "Switched off and on again while the topic is empty, a journal starts again and is whole from there."
ADVICE = {
    "trimmed": f"It was read and trimmed before anything was archived: archive the topic on schedule. {_AFRESH}",
    "elsewhere": "It was archived, but not where this run looked: give it that archive.",
    "past": f"The journal was switched on while messages were there. {_AFRESH}",
    "off": "The journal is off: switch it on, best while the topic is empty.",
    "missing": "Neither the archive nor the journal has them: they were trimmed by hand before they were archived, lost"
    f" with a server, or with the archive, of which an older copy was put back. {_AFRESH}",
    "file": "The archive had them, and has them no more: files of it are gone or damaged. Bring them back from a"
    " backup. Or somebody had deleted them from the middle of the journal before it was archived: nobody has these.",
    "slot": "The archive had this slot, and has nothing of it any more. Bring its files back from a backup.",
    "doubled": "The archive holds entries twice: somebody has copied folders of it. Take the copies away.",
    "forked": "The server has lost the end of its journal, and gone on with the same numbers (or somebody has added"
    " entries of the journal to it again): messages that came at"
    " that time may be lost, or come twice. Restore puts nothing back here; what was there at a moment before, a"
    f" rehearsal shows (--into, --at). {_AFRESH}",
    "unmarked": "Somebody has taken away what the slot had counted, and with that how far its journal was: nobody knows"
    f" what came since. {_AFRESH}",
    "reshaped": "Its slots were made with another definition of the topic (kind, number of slots, time of creation):"
    " somebody has changed that by hand, and calls are refused. Put it back as it was.",
    "undefined": "The archive has this topic, and the server does not know it, though nobody deleted it: restore it."
    " Of a stream nothing is put back: what its journal told stays in the archive.",
    "unjournaled": "The journal is on, and this slot has lost the mark that says so: nobody knows what came since."
    f" {_AFRESH}",
    "redefined": "The topic is here with another kind or number of slots than the archive has it: nothing of it fits"
    " into these. What was there at a moment before, a rehearsal shows (--into, --at).",
    "unwatched": "It was restored before, and worked off since without a journal: what is done would come back. Switch"
    " the journal on before you restore.",
    "restarted": "The server has lost the end of its journal: restore what the archive holds.",
}
"""Per reason, what to do, in a sentence or two. For none of them is there a repair: nobody knows what is missing."""


def holes(
    slots: DataFrame,
    slot_ledgers: DataFrame,
    readers: DataFrame | None = None,
    reached: DataFrame | None = None,
    defined: DataFrame | None = None,
) -> DataFrame:
    """Slots whose journal does not tell everything: ``topic``, ``slot``, ``reason`` and what shows it.

    ``readers``: see `READERS`, asked for after the journals were read; without it nobody knows what was trimmed only
    because it was done with. ``reached``: see `REACHED`; without it there is no archive. ``defined``: see `DEFINED`.
    """
    from pyspark.sql import functions as F

    session = slots.sparkSession
    together = slots.join(slot_ledgers, [*SLOT], "full")
    readers = small(session, [], READERS) if readers is None else readers
    reached = small(session, [], REACHED) if reached is None else reached
    defined = small(session, [], DEFINED) if defined is None else defined
    together = together.join(F.broadcast(readers), [*SLOT], "left").join(F.broadcast(reached), [*SLOT], "left")
    together = together.join(F.broadcast(defined), "topic", "left")
    reshaped = (F.col("shape") != "") & (F.col("shape") != F.col("defined"))
    unjournaled = F.col("journaled_here") & ~F.col("writes") & (F.col("journaled") > 0)
    behind = F.col("journaled") > F.coalesce("last_n", F.lit(0))
    # What was written before the snapshot, and yet behind the end it saw: the server has lost it since.
    lost = (F.col("position") > F.col("end")) & (ms_of(F.col("position")) < F.col("at_ms"))
    # The numbers began anew, and the journal did not; of a topic that was made anew since, it was trimmed.
    unmarked = (F.col("position") <= F.col("begin")) & (F.col("journaled") < F.col("last_n"))
    anew = F.coalesce(F.col("created_ms") > ms_of(F.col("position")), F.lit(False))
    own = F.coalesce(
        F.when(reshaped, "reshaped"),
        "reason",
        F.when(archive_lacks() | behind, "missing")
        .when(lost, "restarted")
        .when(unmarked, F.when(anew, "trimmed").otherwise("unmarked"))
        .when(unjournaled, "unjournaled"),
    )
    last_missing = F.when(F.col("reason").isNull(), F.col("journaled")).when(F.col("front"), F.col("first_n") - 1)
    # Of what the archive had passed, only what it has never seen can have been trimmed before.
    unseen = F.col("reached_n").isNull() | (last_missing > F.col("reached_n")) | (last_missing < F.col("since"))
    by_rule = own.isNotNull() & unseen & (last_missing <= F.col("committed"))
    why = (
        F.when(own != "missing", own)
        .when((F.col("last_n").isNull() & F.col("reached_n").isNotNull()) | begins_behind(), "slot")
        .when(archive_lacks(), "file")
        .when(by_rule, F.when(F.col("elsewhere"), "elsewhere").otherwise("trimmed"))
        .otherwise(own)
    )
    return together.select(
        *SLOT,
        why.alias("reason"),
        "life",
        F.when(F.col("reason").isNull(), F.col("last_n")).otherwise(F.col("after_n")).alias("after_n"),
        "first_n",
        "last_n",
        F.col("journaled").alias("written"),
        "held",
        "readers",
        F.when(F.col("missing") > 0, F.col("missing")).alias("missing"),
        F.when(F.col("doubled") > 0, F.col("doubled")).alias("doubled"),
    ).where("reason IS NOT NULL")


def archive_lacks() -> Column:
    """Whether the archive has fewer numbers of the slot's present life than it has read; of columns of `replay.slots`
    and of `REACHED`."""
    from pyspark.sql import functions as F

    into_it = F.col("from_position").isNull() | (F.col("from_position") <= F.col("reached"))
    wanted = F.col("reached_n") - since_in_life() + 1
    into_it |= begins_behind()
    return F.coalesce(into_it & (wanted > F.coalesce("vouched", F.lit(0))), F.lit(False))


def since_in_life() -> Column:
    """Since which number the archive must hold a life: where the journal went on after a pause, so did the numbers, and
    those before it are of another life."""
    from pyspark.sql import functions as F

    return F.when(F.col("life") > 0, F.greatest("since", "first_n")).otherwise(F.col("since"))


def begins_behind() -> Column:
    """Whether the first known of a slot started again behind all that the archive has read: it has none of it."""
    from pyspark.sql import functions as F

    behind = (F.col("from_position") > F.col("reached")) & (F.col("first_n") <= F.col("reached_n"))
    return F.coalesce(F.col("first_life") & behind, F.lit(False))


FORKS = "topic string, slot int, life int"


def forked(events: DataFrame, holes: DataFrame, forks: DataFrame | None = None) -> DataFrame:
    """`holes`, where those doubled by a server that lost its end are distinguished from those doubled by hand.

    ``events`` need ``life``. Only the slots concerned are looked at again. ``forks``: those known already.
    """
    from pyspark.sql import functions as F

    twice = holes.where("reason = 'doubled'").select(*SLOT, "life")
    places = events.where("seq = 0").join(F.broadcast(twice), [*SLOT, "life"], "left_semi").groupBy(*SLOT).agg(
        F.countDistinct("n").alias("numbers"), F.countDistinct("position").alias("places")
    )  # fmt: skip
    several = places.where("places > numbers").select(*SLOT)
    if forks is not None:
        several = several.union(forks.join(F.broadcast(twice), [*SLOT, "life"], "left_semi").select(*SLOT)).distinct()
    several = several.withColumn("fork", F.lit("forked"))
    known = holes.join(F.broadcast(several), [*SLOT], "left")
    return known.withColumn("reason", F.coalesce("fork", "reason")).drop("fork")


def of_topics(session: SparkSession, topics: list[str], reason: str) -> DataFrame:
    """A hole of whole topics; same columns, no slot."""
    columns = "topic string, slot int, reason string, life int, after_n long, first_n long, last_n long, written long"
    rows = [(topic, None, reason, *[None] * 9) for topic in topics]
    return small(session, rows, f"{columns}, held long, readers string, missing long, doubled long")


def findings(holes: DataFrame) -> DataFrame:
    """The findings: one per slot, or one per topic where the reason lies in how the topic is run."""
    from pyspark.sql import functions as F

    advice = F.create_map(*(F.lit(each) for pair in ADVICE.items() for each in pair))[F.col("reason")]
    once = (
        holes.where(F.col("reason").isin(*WIDE))
        .groupBy("topic", "reason")
        .agg(
            F.when(F.count("*") == 1, F.max("slot")).alias("slot"),
            F.count("slot").alias("slots"),
            F.sum("written").alias("written"),
            F.sum("held").alias("held"),
            F.max("readers").alias("readers"),
        )
    )
    proof = evidence(
        reason=F.col("reason"),
        advice=advice,
        slots=F.when(F.col("slots") > 1, F.col("slots")),
        written=F.col("written"),
        held=F.when(F.col("held") > 0, F.col("held")),
        readers=F.col("readers"),
    )
    single = holes.where(~F.col("reason").isin(*WIDE))
    names = ("reason", "life", "after_n", "first_n", "last_n", "written", "held", "missing", "doubled")
    shown = {name: F.col(name) for name in names}
    return found(once, "journal_gap", "none", proof).union(
        found(single, "journal_gap", "none", evidence(advice=advice, **shown))
    )
