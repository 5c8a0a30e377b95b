"""What differs between two frames of all topics: of a thousand topics few change within a second (decision 334)."""

from __future__ import annotations

from typing import Any

from console.serializers.text import dumps

Frame = dict[str, Any]
_OF_THE_CLOCK = "at_ms"


def overview_changes(before: Frame, after: Frame) -> str | None:
    """The lines that are new or changed; `names`, in order, where these are others. None of what are no such frames."""
    if before.get("type") != "overview" or after.get("type") != "overview":
        return None
    old = {line["name"]: line for line in before["topics"]}
    lines = [line for line in after["topics"] if _differ(old.get(line["name"]), line)]
    names = [line["name"] for line in after["topics"]]
    head = {name: value for name, value in after.items() if name not in ("type", "topics")}
    return dumps(
        {
            "type": "overview_changes",
            "from_ms": before["at_ms"],
            **head,
            "topics": lines,
            "names": None if names == [*old] else names,
        }
    )


def _differ(one: Frame | None, other: Frame) -> bool:
    return one is None or {**one, _OF_THE_CLOCK: None} != {**other, _OF_THE_CLOCK: None}
