"""Spark's settings are as before, whatever became of what was inside."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest

from rmq_core.pipeline import tuning
from rmq_core.pipeline.tuning import few_rows, light_rows


@pytest.mark.parametrize(("during", "settings"), [(light_rows, tuning._LIGHT), (few_rows, tuning._FEW)])
def test_only_what_is_inside_is_set_otherwise(spark: Any, during: Any, settings: dict[str, str]) -> None:
    def now() -> dict[str, Any]:
        return {key: spark.conf.get(key, None) for key in settings}

    first = dict.fromkeys(settings, None)
    try:
        for key in settings:
            first[key] = spark.conf.get(key, None)
            spark.conf.unset(key)
        before, tried = now(), during(spark)
        assert isinstance(tried, AbstractContextManager)
        with pytest.raises(ZeroDivisionError), tried:
            assert now() == settings != before
            raise ZeroDivisionError
        assert now() == before
        rows = spark.range(5).mapInArrow(lambda batches: batches, "id long")
        with during(spark):
            assert rows.count() == 5
    finally:
        for key, value in first.items():
            if value is not None:
                spark.conf.set(key, value)
