"""How many dead letters each cluster had lately: the trend beside its count."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from console.snapshots.store import LiveKeys, if_there_is_room, read_text
from rmq_core.errors import ScriptFailed
from rmq_core.protocol.scripts import Operation

EVERY_S = 60
POINTS = 60
"""An hour, one point each minute."""
_TTL_MS = 2 * POINTS * EVERY_S * 1000
Noted = tuple[int, dict[str, list[int]]]
CLUSTERS_MOST = 500
"""Of each topic; the largest ones."""


def read(keys: LiveKeys, topics: Iterable[str]) -> Operation[dict[str, dict[str, list[int]]]]:
    """By topic and fingerprint: the counts of the last hour, oldest first."""
    names = list(topics)
    if not names:
        return {}
    return {name: counts for name, (_, counts) in (yield from _stored(keys, names)).items()}


def note(keys: LiveKeys, counted: Mapping[str, Mapping[str, int]], at_ms: int) -> Operation[None]:
    """Add a point to every cluster, once a minute however often this is called; what is gone falls to 0."""
    names = list(counted)
    if not names:
        return
    commands: list[tuple[Any, ...]] = []
    for name, (before_ms, before) in (yield from _stored(keys, names)).items():
        if at_ms - before_ms < EVERY_S * 1000 * 0.9:
            continue
        counts = trend(before, counted[name])
        if not counts and not before_ms:  # nothing of it is kept, as of most topics
            continue
        text = json.dumps({"at_ms": at_ms, "counts": counts}, separators=(",", ":"))
        commands.append(("SET", keys.clusters(name), text, "PX", _TTL_MS) if counts else ("DEL", keys.clusters(name)))
    if commands:
        yield from if_there_is_room(commands)


def trend(before: Mapping[str, list[int]], now: Mapping[str, int]) -> dict[str, list[int]]:
    """The points with one more each; clusters that have been empty throughout are left out."""
    length = min(POINTS - 1, max((len(points) for points in before.values()), default=0))
    largest = sorted(now, key=lambda name: -now[name])[:CLUSTERS_MOST]
    found = {}
    for name in {*largest, *before}:
        points = ([0] * length + before.get(name, []))[-length:] if length else []
        points.append(now.get(name, 0))
        if any(points):
            found[name] = points
    return found


def _stored(keys: LiveKeys, names: list[str]) -> Operation[dict[str, Noted]]:
    """When each topic's counts were noted, and the counts. What is not of our shape has not been noted."""
    try:
        replies = yield [("GET", keys.clusters(name)) for name in names]
    except ScriptFailed:  # one of them is no text
        replies = []
        for name in names:
            replies.append((yield from read_text(keys.clusters(name))))
    return {name: _noted(stored) for name, stored in zip(names, replies, strict=True)}


def _noted(stored: bytes | str | None) -> Noted:
    try:
        found = json.loads(stored or "{}")
        at_ms, counts = found["at_ms"], found["counts"]
        if _whole(at_ms) and all(isinstance(points, list) and all(map(_whole, points)) for points in counts.values()):
            return at_ms, counts
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    return 0, {}


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
