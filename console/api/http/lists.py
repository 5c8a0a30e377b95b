"""Rows of a list that can be shown: one that cannot (a word of a newer release, a damaged value) hides no other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ninja import Schema
from pydantic import ValidationError

Row = TypeVar("Row")
log = logging.getLogger("console.api")


def readable(schema: type[Schema], rows: Iterable[Row], show: Callable[[Row], dict[str, Any]]) -> list[Any]:
    """Every row as `schema` shows it. The others are named in the log, and left out (decision 085)."""
    found = []
    for row in rows:
        try:
            found.append(schema.model_validate(show(row)))
        except ValidationError as error:
            wrong = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
            log.warning("%s %s is left out of a list: %s cannot be read", type(row).__name__, _name(row), wrong)
    return found


def _name(row: Any) -> str:
    return str(getattr(row, "pk", "?"))
