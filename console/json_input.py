"""JSON that somebody sent, read strictly: what different readers would take for different things is no JSON here.

One value, in UTF-8; no name twice in an object, no NaN or Infinity, no number beyond what anything here counts to, no
half characters, no nesting deeper than anything here needs. What passes can be stored, shown and sent on.
"""

from __future__ import annotations

import json
import math
from codecs import BOM_UTF8
from typing import Any

from rmq_core.model.text import NotText, check_unicode

DEPTH_MAX = 32
LARGEST = 10**25


class NotJson(ValueError):
    """The text says what is wrong; `field`: where, such as `messages.0.content`; empty: with the whole."""

    def __init__(self, text: str, field: str = "") -> None:
        super().__init__(text)
        self.field = field


def read_json(raw: bytes) -> Any:
    """Raises `NotJson`."""
    try:
        found = json.loads(raw.decode(), object_pairs_hook=_object, parse_constant=_constant)
    except NotJson:
        raise
    except UnicodeDecodeError:
        raise NotJson("must be JSON in UTF-8") from None
    except RecursionError:
        raise NotJson(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        if raw.startswith(BOM_UTF8):
            raise NotJson("must be JSON in UTF-8, without a byte order mark") from None
        raise NotJson(f"is not JSON: {error}") from None
    except ValueError:  # more digits than Python reads
        raise NotJson(_TOO_LARGE) from None
    _walk(found)
    return found


_TOO_LARGE = "must not hold numbers that are too large"
_TOO_DEEP = f"must not be nested deeper than {DEPTH_MAX} times"


def _walk(value: Any) -> None:
    left: list[tuple[Any, tuple[str, ...]]] = [(value, ())]
    while left:
        here, path = left.pop()
        if len(path) > DEPTH_MAX:
            raise NotJson(_TOO_DEEP, path[0])
        match here:
            case str():
                _encodable(here, path)
            case int() if abs(here) > LARGEST:
                raise NotJson(_TOO_LARGE, ".".join(path))
            case float() if not math.isfinite(here):
                raise NotJson(_TOO_LARGE, ".".join(path))
            case dict():
                for name in here:
                    _encodable(name, path)
                left += [(each, (*path, name)) for name, each in here.items()]
            case list():
                left += [(each, (*path, str(number))) for number, each in enumerate(here)]


def _encodable(value: str, path: tuple[str, ...]) -> None:
    try:
        check_unicode(value)
    except NotText as error:
        raise NotJson(f"{error}, which is not Unicode text", ".".join(path)) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotJson(f"must not have {ascii(twice)[:80]} twice in one object")
    return found


def _constant(word: str) -> float:
    raise NotJson(f"must not hold {word}, which is not JSON")
