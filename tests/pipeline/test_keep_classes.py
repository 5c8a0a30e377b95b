"""What Spark does once, so that Java sees it load: a reconciliation that needs no Redis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rmq_core.pipeline.program import keep_classes


def test_a_bit_of_everything_is_done_without_a_server(spark: Any, tmp_path: Path) -> None:
    keep_classes._a_bit_of_everything(spark, str(tmp_path))
    made = {each.name for each in tmp_path.rglob("*") if each.is_dir()}
    assert {"tables", "report", "findings", "suspects", "messages"} <= made, made
