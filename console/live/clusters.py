"""How many dead letters each cluster had lately: the trend beside its count."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from console.live.store import LiveKeys
from rmq_core.scripts import Operation

EVERY_S = 60
POINTS = 60
"""An hour, one point each minute."""
_TTL_MS = 2 * POINTS * EVERY_S * 1000
CLUSTERS_MOST = 500
"""Of each topic; the largest ones."""


def read(keys: LiveKeys, topics: Iterable[str]) -> Operation[dict[str, dict[str, list[int]]]]:
    """By topic and fingerprint: the counts of the last hour, oldest first."""
    names = list(topics)
    if not names:
        return {}
    replies = yield [("GET", keys.clusters(name)) for name in names]
    return {name: json.loads(stored)["counts"] if stored else {} for name, stored in zip(names, replies, strict=True)}


def note(keys: LiveKeys, counted: Mapping[str, Mapping[str, int]], at_ms: int) -> Operation[None]:
    """Add a point to every cluster, once a minute however often this is called; what is gone falls to 0."""
    names = list(counted)
    if not names:
        return
    replies = yield [("GET", keys.clusters(name)) for name in names]
    commands: list[tuple[Any, ...]] = []
    for name, stored in zip(names, replies, strict=True):
        before = json.loads(stored) if stored else {"at_ms": 0, "counts": {}}
        if at_ms - before["at_ms"] < EVERY_S * 1000 * 0.9:
            continue
        counts = trend(before["counts"], counted[name])
        text = json.dumps({"at_ms": at_ms, "counts": counts}, separators=(",", ":"))
        commands.append(("SET", keys.clusters(name), text, "PX", _TTL_MS) if counts else ("DEL", keys.clusters(name)))
    if commands:
        yield commands


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
