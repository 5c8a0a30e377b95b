"""Small files beside the tables: on this machine without Java, anywhere else through Hadoop, and the same of both."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rmq_core.pipeline import durable, files
from tests.pipeline.object_store import away_after, mount


@pytest.fixture(params=["as it is", "relative", "file:", "file://", "through Hadoop", "object store"])
def place(spark: Any, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A folder, named in each of the ways; ``viewfs`` is to Hadoop another file system, whose files are here."""
    folder = tmp_path / "a b%20"
    if request.param == "relative":
        return os.path.relpath(folder, spark.sparkContext._jvm.java.lang.System.getProperty("user.dir"))
    if request.param == "object store":
        mount(spark)
        return f"objects://{folder}"
    if request.param != "through Hadoop":
        return ("" if request.param == "as it is" else request.param) + str(folder)
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.impl.disable.cache", "true")  # else it is the folder of the test before
    settings.set("fs.viewfs.mounttable.tests.link./here", f"file://{tmp_path}")
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


def test_a_file_is_created_once_and_a_folder_takes_no_others_place(spark: Any, place: str, tmp_path: Path) -> None:
    folder = tmp_path / "a b%20"
    assert durable.create(spark, f"{place}/notes/1", "first") and not durable.create(
        spark, f"{place}/notes/1", "second"
    )
    assert files.read_text(spark, f"{place}/notes/1") == "first"
    assert [each.name for each in (folder / "notes").iterdir() if not each.name.endswith(".crc")] == ["1"]
    for name in ("made", "again"):
        files.write_text(spark, f"{place}/{name}/file", name)
    assert durable.move(spark, f"{place}/made", f"{place}/x=1/y=2")
    assert not durable.move(spark, f"{place}/again", f"{place}/x=1/y=2")
    assert files.read_text(spark, f"{place}/x=1/y=2/file") == "made"
    assert files.read_text(spark, f"{place}/again/file") == "again"
    assert set(files.folders(spark, place)) == {"notes", "x=1", "again"}
    with pytest.raises(Exception, match=r"(?i)no such file|not.?found|not.?exist"):
        durable.move(spark, f"{place}/gone", f"{place}/z")


def test_half_of_ours_is_nobody_elses(spark: Any, tmp_path: Path) -> None:
    """A folder that comes to its place file by file, and is cut off: to go on as if another one had put it there would
    lose what has not come."""
    mount(spark)
    place = f"objects://{tmp_path}"
    for name in ("1", "2"):
        files.write_text(spark, f"{place}/made/{name}", name)
    with away_after(spark, 2), pytest.raises(Exception, match="nobody reaches the store"):
        durable.move(spark, f"{place}/made", f"{place}/there")
    assert (files.files(spark, f"{place}/made"), files.files(spark, f"{place}/there")) == (["2"], ["1"])
    assert not durable.move(spark, f"{place}/made", f"{place}/there")


def test_in_an_object_store_an_old_file_stays_until_the_new_one_is_whole(spark: Any, tmp_path: Path) -> None:
    mount(spark)
    file = f"objects://{tmp_path}/note"
    files.write_text(spark, file, "old")
    for changes in (0, 1):
        with away_after(spark, changes), suppress(Exception):
            files.write_text(spark, file, "new")
        assert files.read_text(spark, file) == ("old", "new")[changes]
    assert files.files(spark, f"objects://{tmp_path}") == ["note"]


def test_what_a_stream_left_of_a_sum_does_no_harm(spark: Any, tmp_path: Path) -> None:
    """It was killed between the one and the other."""
    (tmp_path / ".1.crc").write_bytes(b"crc\x00\x00\x00\x02\x00\x12\x34\x56\x78")
    assert durable.create(spark, f"{tmp_path}/1", "whole\n")
    assert [row.value for row in spark.read.text(f"{tmp_path}/1").collect()] == ["whole"]
