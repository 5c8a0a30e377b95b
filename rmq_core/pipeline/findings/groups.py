"""Where consumer groups stand × how far their journals say they have read: pure DataFrame transforms."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from rmq_core.pipeline.findings.verdicts import WHY, found
from rmq_core.pipeline.history.accounts import LIFE
from rmq_core.pipeline.history.replay import SLOT, entry_of, evidence, ms_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ID, _COUNT = r"\d{1,20}-\d{1,20}", r"\d{1,17}"
_FORM = rf"\A{_ID} -?{_COUNT} {_ID} {_ID} -?{_COUNT} {_COUNT} [dn]\z"
"""Where a group stands, as ``shared/positions.lua`` writes it; what is not like that, no script can go on from."""
_PART = "decimal(20)"
_PART_MOST = Decimal(2**64 - 1)
"""Either number of an entry's id has 64 bits: more than a long of Spark's."""


def moved_by_hand(accounts: DataFrame, whole: DataFrame, slot_ledgers: DataFrame) -> DataFrame:
    """Groups that stand elsewhere in a slot than their journal says. ``whole``: slots whose journal is whole, with
    their present ``life``. Nothing is said of a group that has read on while its slot was looked at.

    Journals that began with an earlier release did not tell of entries that a group passed by: there one that stands
    farther on may have read.
    """
    from pyspark.sql import functions as F

    ledgers = slot_ledgers.where("instr(topic, '@') > 0").select(
        *SLOT, "begin", F.get_json_object("ledger", "$.position").alias("position_text")
    )
    told = accounts.where("cursor_ms IS NOT NULL AND cursor_seq IS NOT NULL")
    here = told.join(F.broadcast(whole.select(*LIFE)), [*LIFE], "left_semi").join(ledgers, [*SLOT])
    stands = F.substring_index("position_text", " ", 1)
    ms, seq = (F.substring_index(stands, "-", n).try_cast(_PART) for n in (1, -1))
    same_ms = ms == F.col("cursor_ms")
    behind = (ms < F.col("cursor_ms")) | (same_ms & (seq < F.col("cursor_seq")))
    ahead = (ms > F.col("cursor_ms")) | (same_ms & (seq > F.col("cursor_seq")))
    from_the_beginning = F.coalesce(F.col("placed_at") == F.col("from_position"), F.lit(False))
    parts = F.regexp_extract_all("position_text", F.lit(r"(\d+)"), 1)
    no_id = F.exists(parts, lambda part: part.try_cast(_PART) > F.lit(_PART_MOST))
    wrong = ~F.col("position_text").rlike(_FORM) | no_id | behind | (ahead & from_the_beginning)
    proof = evidence(
        expected=F.format_string("%d-%d", "cursor_ms", "cursor_seq"),
        stands_behind=F.when(F.col("position_text") != "", stands),
        last_entry=entry_of(F.col("cursor_at")),
        last_ms=ms_of(F.col("cursor_at")),
        why=F.lit(WHY["wrong_position"]),
    )
    return found(here.where(F.col("cursor_at") <= F.col("begin")).where(wrong), "wrong_position", "none", proof)
