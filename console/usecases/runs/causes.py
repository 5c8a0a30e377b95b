"""What findings of one kind have in common, in a word or two: `name` or `name:value,value`, as in their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CAUSE_MAX = 100
SAID = ("reason", "what", "missing", "extra", "event", "last_event")
"""The first of these that evidence has says what is behind it; none of them is content."""


def cause_of(evidence: Mapping[str, Any]) -> str:
    """The cause that evidence names; empty where it names none."""
    if evidence.get("with_server") is True:
        return "with_server"
    for name in SAID:
        match evidence.get(name):
            case str(word) if word:
                return f"{name}:{word}"[:CAUSE_MAX]
            case [_, *_] as words:
                return f"{name}:{','.join(sorted(map(str, words)))}"[:CAUSE_MAX]
    return "counters" if evidence.get("counters") else ""
