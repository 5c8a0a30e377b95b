"""Where journals do not tell everything: looked for slot by slot, told once where the cause is the topic's.

Of a slot with a gap nothing is claimed that its journal would have to prove.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmq_core.pipeline.replay import SLOT, evidence, ms_of
from rmq_core.pipeline.verdicts import found

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

READERS = "topic string, slot int, committed long, readers string, elsewhere boolean"
"""Per slot: the last number that every durable reader of its journal has committed, who they are, and whether one of
them is an archive that this run was not given.
"""

WIDE = ("trimmed", "elsewhere", "past", "off")
"""Reasons that lie in how a topic is run, not in what happened to one slot."""

_AFRESH = "Switched off and on again while the topic is empty, a journal begins anew and is whole from there."
ADVICE = {
    "trimmed": f"Its readers had done with it before anything was archived: archive the topic on schedule. {_AFRESH}",
    "elsewhere": "It was archived, but not where this run looked: give it that archive.",
    "past": f"The journal was switched on while messages were there. {_AFRESH}",
    "off": "The journal is off: switch it on, best while the topic is empty.",
    "missing": "Entries were trimmed by hand, or lost with a server.",
    "doubled": "The archive holds entries twice: somebody has copied folders of it.",
    "restarted": "The server has lost the end of its journal: restore what the archive holds.",
}
"""Per reason, what to do, in a sentence or two."""


def holes(slots: DataFrame, books: DataFrame, readers: DataFrame | None = None) -> DataFrame:
    """Slots whose journal does not tell everything: ``topic``, ``slot``, ``reason`` and what shows it.

    ``readers``: see `READERS`, asked for after the journals were read; without it nobody knows what was trimmed only
    because it was done with.
    """
    from pyspark.sql import functions as F

    together = slots.join(books, [*SLOT], "full")
    if readers is None:
        readers = slots.sparkSession.createDataFrame([], READERS)
    together = together.join(F.broadcast(readers), [*SLOT], "left")
    behind = F.col("journaled") > F.coalesce("last_n", F.lit(0))
    # What was written before the snapshot, and yet behind the end it saw: the server has lost it since.
    lost = (F.col("position") > F.col("end")) & (ms_of(F.col("position")) < F.col("at_ms"))
    reason = F.coalesce("reason", F.when(behind, "missing").when(lost, "restarted"))
    last_missing = F.when(F.col("reason").isNull(), F.col("journaled")).when(F.col("front"), F.col("first_n") - 1)
    by_rule = (reason == "missing") & (last_missing <= F.col("committed"))
    return together.select(
        *SLOT,
        F.when(by_rule, F.when(F.col("elsewhere"), "elsewhere").otherwise("trimmed")).otherwise(reason).alias("reason"),
        "life",
        F.when(F.col("reason").isNull(), F.col("last_n")).otherwise(F.col("after_n")).alias("after_n"),
        "first_n",
        "last_n",
        F.col("journaled").alias("written"),
        "held",
        "readers",
    ).where("reason IS NOT NULL")


def without_journal(session: SparkSession, topics: list[str]) -> DataFrame:
    """The hole of topics whose journal is off and of which something is to be proved; same columns, no slot."""
    columns = "topic string, slot int, reason string, life int, after_n long, first_n long, last_n long, written long"
    rows = [(topic, None, "off", *[None] * 7) for topic in topics]
    return session.createDataFrame(rows, f"{columns}, held long, readers string")


def told(holes: DataFrame) -> DataFrame:
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
    shown = {name: F.col(name) for name in ("reason", "life", "after_n", "first_n", "last_n", "written", "held")}
    return found(once, "journal_gap", "none", proof).union(
        found(single, "journal_gap", "none", evidence(advice=advice, **shown))
    )
