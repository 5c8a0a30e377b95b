"""Repairs that would write what files say that somebody has changed: they are withheld."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OUT_OF_FILES = ("set_right", "move", "drop_orphan", "correct_counters")
"""Those that write, or take away, what the archive says; the others go by what the queues hold."""
WHY = (
    "Files of the archive were changed by hand, and the repair would do what they say. Bring them back from a backup"
    " if they are wrong; then, or if they are right, reconcile once from scratch (--from-scratch): that takes them as"
    " true."
)


def withheld(findings: DataFrame, topics: Collection[str]) -> DataFrame:
    """The findings, those of ``topics`` without such a repair, and with the reason."""
    if not topics:
        return findings
    from pyspark.sql import functions as F

    doubtful = F.col("topic").isin(sorted(topics)) & F.col("repair").isin(*OUT_OF_FILES)
    known = F.from_json("evidence", "map<string, string>")
    without_end = F.expr("substring(evidence, 1, length(evidence) - 1)")
    separator = F.when(F.size(known) > 0, F.lit(", ")).otherwise(F.lit(""))
    said = F.concat(without_end, separator, F.lit(f'"why":"{WHY}"}}'))
    return findings.withColumns(
        {
            "evidence": F.when(doubtful, said).otherwise(F.col("evidence")),
            "repair": F.when(doubtful, F.lit("none")).otherwise(F.col("repair")),
        }
    )
