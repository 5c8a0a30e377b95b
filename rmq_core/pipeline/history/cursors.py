"""How far each consumer group has read, as its journal tells it: pure DataFrame transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CURSORS = ("placed_at", "cursor_at", "cursor_ms", "cursor_seq")
"""Columns of `accounts`, null for topics: the position of the first transition that tells where the group stands
without reading (`moved`), and of the last that tells it at all; and the id of the entry it stands behind, in two."""
_PLACES = 10_000_000
"""More than an entry of a journal has."""


def cursors(events: DataFrame, keys: list[str]) -> DataFrame:
    """Per ``keys`` the `CURSORS` of groups, and ``cursor_order``, by which several are put together."""
    from pyspark.sql import functions as F

    several = events.where("instr(topic, '@') > 0 AND (event = 'moved' OR (event = 'sent' AND origin = 'n'))")
    # A number, for of what else Spark would have to sort them all.
    order = F.col("position").cast("decimal(19, 0)") * F.lit(_PLACES).cast("decimal(8, 0)") + F.col("seq")
    id = F.col("id").cast("string")
    named = {"cursor_ms": F.substring_index(id, "-", 1), "cursor_seq": F.substring_index(id, "-", -1)}
    told = several.select(
        *keys,
        F.when(F.col("event") == "moved", F.col("position")).alias("placed_at"),
        F.col("position").alias("cursor_at"),
        *(value.try_cast("long").alias(name) for name, value in named.items()),
        order.cast("decimal(28, 0)").alias("cursor_order"),
    )
    return _gathered(told, keys)


def joined(parts: DataFrame, keys: list[str]) -> DataFrame:
    """The `CURSORS` of all that `cursors` gives of parts."""
    return _gathered(parts, keys).drop("cursor_order")


def _gathered(rows: DataFrame, keys: list[str]) -> DataFrame:
    from pyspark.sql import functions as F

    return rows.groupBy(*keys).agg(
        F.min("placed_at").alias("placed_at"),
        F.max("cursor_at").alias("cursor_at"),
        *latest("cursor_order", "cursor_ms", "cursor_seq"),
    )


def latest(by: str, *names: str) -> list[Column]:
    """Of each of these columns, and of ``by``, the value where that is the highest."""
    from pyspark.sql import functions as F

    return [*(F.max_by(name, by).alias(name) for name in names), F.max(by).alias(by)]
