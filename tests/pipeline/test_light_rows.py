"""Rows are measured again, whatever became of what was inside."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core.pipeline.light_rows import LIMIT, UNMEASURED, light_rows


def test_only_what_is_inside_is_unmeasured(spark: Any) -> None:
    before = spark.conf.get(LIMIT)
    with pytest.raises(ZeroDivisionError), light_rows(spark):
        assert spark.conf.get(LIMIT) == UNMEASURED != before
        raise ZeroDivisionError
    assert spark.conf.get(LIMIT) == before
    rows = spark.range(5).mapInArrow(lambda batches: batches, "id long")
    with light_rows(spark):
        assert rows.count() == 5
