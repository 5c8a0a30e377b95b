"""Files of this machine: for their owner, and written without a program for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rmq_core.pipeline.local_files import NAME


def of_this_machine(spark: Any) -> Any:
    return spark._jvm.org.apache.hadoop.fs.FileSystem.get(
        spark._jvm.java.net.URI("file:///"), spark._jsc.hadoopConfiguration()
    )


def test_what_spark_writes_is_for_its_owner(spark: Any, tmp_path: Path) -> None:
    assert of_this_machine(spark).getClass().getName() == NAME
    spark.range(3).write.parquet(f"{tmp_path}/a/b")
    made = [tmp_path / "a", *(tmp_path / "a").rglob("*")]
    assert any(each.suffix == ".parquet" for each in made)
    assert {oct(each.stat().st_mode & 0o7777) for each in made} == {"0o700", "0o600"}
    assert spark.read.parquet(f"{tmp_path}/a/b").count() == 3


def test_every_mode_is_set_as_it_is_said(spark: Any, tmp_path: Path) -> None:
    files, java = of_this_machine(spark), spark._jvm.org.apache.hadoop.fs
    for name in ("plain", "with a blank", "ümlaut", "a'b"):
        (tmp_path / name).mkdir()
        for mode in (0o700, 0o640, 0o000, 0o777, 0o1777):
            files.setPermission(
                java.Path(f"{tmp_path}/{name}"), java.permission.FsPermission(java.permission.FsPermission(mode))
            )
            assert (tmp_path / name).stat().st_mode & 0o7777 == mode
