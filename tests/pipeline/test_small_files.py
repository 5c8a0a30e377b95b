"""Small files beside the tables: on this machine without Java, anywhere else through Hadoop, and the same of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rmq_core.pipeline import files


@pytest.fixture(params=["as it is", "file:", "file://", "through Hadoop"])
def place(spark: Any, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A folder, named in each of the ways; ``viewfs`` is to Hadoop another file system, whose files are here."""
    folder = tmp_path / "a b%20"
    if request.param != "through Hadoop":
        return ("" if request.param == "as it is" else request.param) + str(folder)
    spark.sparkContext._jsc.hadoopConfiguration().set("fs.viewfs.mounttable.tests.link./here", f"file://{tmp_path}")
    return "viewfs://tests/here/a b%20"


def test_what_is_written_is_found_again(spark: Any, place: str, tmp_path: Path) -> None:
    file = f"{place}/notes/1"
    assert (files.read_text(spark, file), files.files(spark, f"{place}/notes"), files.tree(spark, place)) == (
        None,
        [],
        [],
    )
    assert (files.folders(spark, place), files.holding(spark, place, "1")) == ([], [])
    files.write_text(spark, file, "first")
    files.write_text(spark, file, "of many\nlines, ä")
    assert files.read_text(spark, file) == "of many\nlines, ä"
    assert (tmp_path / "a b%20" / "notes" / "1").read_text(encoding="utf-8") == "of many\nlines, ä"
    files.write_text(spark, f"{place}/others/2", "x")
    assert (files.files(spark, f"{place}/notes"), files.files(spark, place)) == (["1"], [])
    assert set(files.folders(spark, place)) == {"notes", "others"} and files.holding(spark, place, "2") == ["others"]
    assert {(path, size) for path, size, _ in files.tree(spark, place)} >= {("notes/1", 17), ("others/2", 1)}
    files.remove(spark, file)
    files.remove(spark, file)
    assert (files.read_text(spark, file), files.files(spark, f"{place}/notes")) == (None, [])
    files.remove(spark, f"{place}/others")
    assert files.folders(spark, place) == ["notes"]


def test_what_spark_wrote_is_replaced_with_its_sum(spark: Any, place: str) -> None:
    """Else Spark would find the new file damaged."""
    spark.createDataFrame([("old",)], "value string").coalesce(1).write.mode("overwrite").text(f"{place}/t")
    (name,) = [each for each in files.files(spark, f"{place}/t") if each.startswith("part-")]
    files.write_text(spark, f"{place}/t/{name}", "new\n")
    assert [row.value for row in spark.read.text(f"{place}/t").collect()] == ["new"]
