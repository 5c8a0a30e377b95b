"""One way to write a value as JSON, so that equal values have equal contents, and so merge.

Compact, keys in the order of their code points, text as it is, whole numbers in full however large, other numbers as
the shortest text that reads back as the same. What would come back as something else, or not at all, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, TypeAlias

from rmq_core.errors import InvalidMessage
from rmq_core.model.text import worded

Json: TypeAlias = Mapping[str, Any] | list[Any] | tuple[Any, ...] | str | int | float | bool | None
"""What JSON can hold: text, numbers, true, false, None, and lists and mappings (text to values) of these."""


def to_json(value: Json) -> str:
    """The text of a value, always the same for equal ones. Raises `InvalidMessage`."""
    try:
        _check(value)
        return _ENCODER.encode(value)
    except RecursionError:
        raise InvalidMessage("content cannot be written as JSON: it is nested too deeply, or holds itself") from None
    except (TypeError, ValueError) as error:
        raise InvalidMessage(f"content cannot be written as JSON: {error!s:.200}") from None


def _check(value: object) -> None:
    """Refuses what JSON has no word for, and keys that it would turn into text: they would come back as other keys."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            if not isinstance(key, str):
                raise TypeError(f"keys must be text, and {worded(key)} is {_a(key)}")
            _check(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            _check(each)
    elif isinstance(value, float) and not isfinite(value):
        raise ValueError(f"it has no {value}")


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"it holds {_a(value)} ({worded(value)}); send text, numbers, true, false, None, lists or mappings")


def _a(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True, default=_plain)
