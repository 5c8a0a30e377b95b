"""Reports without what was erased: in findings nothing is left of the message, and tables in between go as a whole.

A finding stays, so that what a run counted stays true; whose it was, what proves it and how it is repaired goes. Of a
message that stays, and has told of an erased one, only the proof and the repair go. Whoever makes a report just now
loses its tables, and is told to begin again: what it has read may have been erased.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rmq_core.pipeline import files
from rmq_core.pipeline.archive.redacted import ERASED
from rmq_core.pipeline.jobs import report
from rmq_core.pipeline.schemas import FINDINGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rmq_core.pipeline.state.erased import Matching

EVIDENCE = json.dumps({"why": "the message, or one that it told of, was erased"})
BETWEEN = "erased"
"""Where a table is written anew before it takes the place of the old one."""


def forget(
    session: SparkSession, reports: str, namespace: str, gone: Matching, tellers: Matching, *, between: bool = True
) -> None:
    """Of all reports of a namespace in that folder. ``gone``: messages that were erased; ``tellers``: that have told
    of them. ``between``: tables in between, too; not where nothing was erased just now."""
    for run in files.folders(session, reports) if between else ():
        if report.working_for(session, reports, run) in (namespace, None):
            # In this order: what says whose it is goes last of a run that ends just now. Of one that did not end no
            # table counts, and nothing else says whose it is.
            ended = files.read_text(session, f"{reports}/{run}/{report.SUMMARY}") is not None
            for table in (report.WORK, BETWEEN, *(() if ended else report.TABLES)):
                files.remove_whole(session, f"{reports}/{run}/{table}")
    runs = report.finished(session, reports, namespace)
    folders = [f"{reports}/{run}/findings" for run in runs if files.files(session, f"{reports}/{run}/findings")]
    if not folders:
        return
    for run, name in _with_any(files.literally(session).schema(FINDINGS).parquet(*folders), gone, tellers):
        place, anew = f"{reports}/{run}/findings/{name}", f"{reports}/{run}/{BETWEEN}"
        # One task for one file, which is bounded (see `report.AT_ONCE`); the order among files stays.
        bare = _bare(files.literally(session).schema(FINDINGS).parquet(place), gone, tellers).coalesce(1)
        bare.sortWithinPartitions(*report.ORDER).write.mode("overwrite").parquet(anew)
        (made,) = [each for each in files.files(session, anew) if each.endswith(".parquet")]
        files.replace(session, f"{anew}/{made}", place)
        files.remove(session, anew)


def _with_any(findings: DataFrame, gone: Matching, tellers: Matching) -> list[tuple[str, str]]:
    """Run and name of the files in which there is any."""
    from pyspark.sql import functions as F

    named = findings.withColumn("file", F.input_file_name())
    several = [each(named, "left_semi").select("file") for each in (gone, tellers)]
    rows = several[0].union(several[1]).distinct().collect()
    parts = [unquote(row.file).rsplit("/", 3) for row in rows]
    return sorted((run, name) for _, run, _, name in parts)


def _bare(findings: DataFrame, gone: Matching, tellers: Matching) -> DataFrame:
    from pyspark.sql import functions as F

    erased = gone(findings, "left_semi").withColumn("id", F.lit(ERASED))
    stay = gone(findings, "left_anti")
    several = erased.unionByName(tellers(stay, "left_semi"))
    nothing = {"evidence": F.lit(EVIDENCE), "repair": F.lit("none"), "repair_data": F.lit(None).cast("binary")}
    return several.withColumns(nothing).unionByName(tellers(stay, "left_anti"))
