"""What follows a message, and what it follows, for who may not see every topic (decision 315)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rmq_core.model.follow_ups import AFTER_HEADER, THEN_HEADER
from rmq_core.model.text import encodable

Sees: TypeAlias = Callable[[str], bool]
HIDDEN = "…"


def headers_json(headers: Mapping[str, str], sees: Sees) -> dict[str, str]:
    """As sent, but for lone surrogates, which older releases let in and no reader of JSON need understand; and but for
    what names topics that the reader does not see, with all that goes there.
    """
    found = {encodable(name): encodable(value) for name, value in headers.items()}
    after, then = found.get(AFTER_HEADER), found.get(THEN_HEADER)
    if after is not None and not sees(after.partition(" ")[0]):
        found[AFTER_HEADER] = HIDDEN
    if then is not None:
        found[THEN_HEADER] = _plan(then, sees)
    return found


def _plan(then: str, sees: Sees) -> str:
    try:
        told = json.loads(then)
        shown = _shown(told, sees)
    except (ValueError, RecursionError):  # nothing that can be followed: somebody else has written it
        return HIDDEN
    return then if shown == told else json.dumps(shown, separators=(",", ":"), ensure_ascii=False)


def _shown(value: Any, sees: Sees) -> Any:
    if not isinstance(value, dict):
        return value
    if "topic" in value and not sees(str(value["topic"])):
        return {"topic": HIDDEN}
    return value | {name: _shown(value[name], sees) for name in ("if_done", "if_dead") if name in value}
