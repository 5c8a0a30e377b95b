"""What a slot has counted × what its journal tells of the same: pure DataFrame transforms.

That the ledger of a slot balances shows only that no counter alone is wrong, of those that are in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmq_core.pipeline.history.accounts import LIFE
from rmq_core.pipeline.history.replay import SLOT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COMPARED = (
    *("merged", "taken", "acked", "retried", "expired", "died", "cancelled", "rescheduled"),
    *("released", "lapsed", "duplicate", "outdated"),
)
"""Each is an event of the journal. Not ``sent``, ``restored`` and ``dropped``: the first is what all others add up to,
and corrections count as the others; nor ``requeued``, which counts what merged, too."""


def miscounted(accounts: DataFrame, whole: DataFrame, slot_ledgers: DataFrame, suspects: DataFrame) -> DataFrame:
    """Per topic and slot ``counters``: what they count more than the journal tells; null: nothing. Of queues that stood
    still from when they were read until their journal was, and where it tells all they have ever counted (``told``).

    ``whole``: slots whose journal is whole, with their present ``life``. What ``suspects`` of a slot did that could
    not happen, its journal may tell too often, by as many.
    """
    from pyspark.sql import functions as F

    ledgers = slot_ledgers.where("told = 1 AND instr(topic, '@') = 0").select(*SLOT, "ledger", "begin")
    here = accounts.join(F.broadcast(whole.select(*LIFE)), [*LIFE], "left_semi")
    untrue = (
        suspects.where("impossible IS NOT NULL")
        .groupBy(*SLOT)
        .agg(F.collect_set("wrong.event").alias("untrue"), F.count("*").alias("times"))
    )
    still = here.join(F.broadcast(ledgers), [*SLOT]).where("position = begin")
    still = still.join(F.broadcast(untrue), [*SLOT], "left")

    def more(name: str) -> Column:
        said = F.coalesce(F.get_json_object("ledger", f"$.counters.{name}").cast("long"), F.lit(0))
        forged = F.array_contains("untrue", F.lit(name)) & (said - F.col(name)).between(-F.col("times"), F.lit(0))
        doubtful = F.coalesce(forged, F.lit(False))
        return F.when(~doubtful & (said != F.col(name)), said - F.col(name)).alias(name)

    wrong = F.to_json(F.struct(*(more(name) for name in COMPARED)))
    return still.select(*SLOT, F.nullif(wrong, F.lit("{}")).alias("counters"))
