"""Frames of all topics, as somebody may see them who is for some: nothing in them is of another topic."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from console.access import EVERY_TOPIC, covers

Frame = dict[str, Any]
_SUMS = ("backlog", "ready", "retrying", "in_flight", "dead")
_OF_ALL = frozenset({"data_lost"})
"""Problems of the installation by which nobody's topics are what they seem."""
_RATES = ("out_s", "failed_s")


def scoped_text(text: str, patterns: tuple[str, ...]) -> str:
    """A frame as it is stored, for those with these patterns."""
    if EVERY_TOPIC in patterns:
        return text
    return json.dumps(scoped(json.loads(text), patterns), separators=(",", ":"))


def scoped(frame: Frame, patterns: tuple[str, ...]) -> Frame:
    """The same of one that was read already. Raises `KeyError` for a kind that has no rule here."""
    return frame if EVERY_TOPIC in patterns else _RULES[frame["type"]](frame, patterns)


def _overview(frame: Frame, patterns: tuple[str, ...]) -> Frame:
    topics = [each for each in frame["topics"] if covers(patterns, each["name"])]
    wrong = [each for each in frame["problems"] if each["code"] in _OF_ALL or covers(patterns, each["topic"] or "")]
    return {
        **{name: frame[name] for name in ("type", "at_ms", "interval_ms", "server")},
        "totals": _totals(topics),
        "problems": wrong,
        "topics": topics,
    }


def _totals(topics: list[Frame]) -> Frame:
    """Of the lines, as far as these tell. `p99` and `workers` are of all topics together, and so of nobody's here."""
    worst = max(topics, key=lambda each: each["lag_ms"], default=None)
    return {
        "in_s": _sum(each["in_s"] for each in topics if each["kind"] != "group"),
        **{name: _sum(each[name] for each in topics) for name in _RATES},
        **{name: sum(each[name] for each in topics) for name in _SUMS},
        "lag_ms": worst["lag_ms"] if worst else 0,
        "lag_topic": worst["name"] if worst and worst["lag_ms"] else None,
        "p99": None,
        "oldest_ms": max((each["oldest_ms"] for each in topics if each["oldest_ms"] is not None), default=None),
        "acknowledged": 0,
        "workers": None,
    }


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known), 1) if known else None


def _sparks(frame: Frame, patterns: tuple[str, ...]) -> Frame:
    return {**frame, "sparks": _of_topics(frame["sparks"], patterns)}


def _fleet(frame: Frame, patterns: tuple[str, ...]) -> Frame:
    """Workers that work on one of the topics; what operators want of all of them is left out."""
    return {
        **{name: frame[name] for name in ("type", "at_ms", "interval_ms")},
        "workers": [_worker(each, patterns) for each in frame["workers"] if _of_topics(each["topics"], patterns)],
        "away": [],
        "topics": [each for each in frame["topics"] if covers(patterns, each["name"])],
        "events": [each for each in frame["events"] if covers(patterns, each["topic"])],
    }


def _worker(worker: Frame, patterns: tuple[str, ...]) -> Frame:
    topics = _of_topics(worker["topics"], patterns)
    versions = _of_topics(worker["versions"], patterns)
    loses = [name for name in worker.get("at_most_once", ()) if name in topics]
    turns = _of_topics(worker.get("turns", {}), patterns)
    own = {"topics": topics, "versions": versions, "at_most_once": loses, "turns": turns}
    return {**worker, **own, "slots": sum(topics.values())}


def _of_topics(values: Mapping[str, Any], patterns: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if covers(patterns, name)}


_RULES: dict[str, Callable[[Frame, tuple[str, ...]], Frame]] = {
    "overview": _overview,
    "sparks": _sparks,
    "fleet": _fleet,
}
