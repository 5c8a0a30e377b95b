"""Only the columns that somebody wants: ``.schema("topic string, id binary")``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rmq_core.errors import ConfigurationError

_PLAIN = {"long": "bigint"}
"""What a type of ours is called in a schema of Spark's, where that is something else."""


def chosen(schema: Any, columns: Sequence[tuple[str, str, str]]) -> list[str]:
    """The names in a schema of Spark's, which are some of ``columns``. Raises `ConfigurationError`."""
    known = {name: _PLAIN.get(kind, kind) for name, kind, _ in columns}
    for field in schema:
        if field.name not in known:
            raise ConfigurationError(f"there is no column {field.name!r}; there are {', '.join(known)}")
        if (wanted := field.dataType.simpleString()) != known[field.name]:
            raise ConfigurationError(f"the column {field.name!r} is a {known[field.name]}, not a {wanted}")
    return [field.name for field in schema]
