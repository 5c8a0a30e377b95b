"""What a screen shows now: numbers and names of its topics, never a message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from console.engine import engine
from console.history.points import POINT
from console.history.reading import rows_of
from console.models import Alert, Screen
from console.options import options
from console.panels import Panel, pages_of
from console.release import RELEASE
from console.snapshots import store
from console.snapshots.store import LiveKeys

LINES_MOST = 12
POINTS_MOST = 450
_FIGURES = ("in_s", "out_s", "backlog", "lag_ms", "in_flight", "dead")
_LINE = ("name", "backlog", "in_s", "out_s", "lag_ms", "dead", "workers", "problems")


def screen_data(screen: Screen) -> dict[str, Any]:
    """`age_ms`: of what is shown, by the clock of Redis; null where nobody samples. Raises `RMQError`."""
    client = engine()
    keys = LiveKeys(options().namespace)
    now_ms = client.inspector.now_ms()
    frame = client.client.run(store.read_frame(keys.overview))
    overview: dict[str, Any] = json.loads(frame[1]) if frame else {}
    return {
        "name": screen.name,
        "title": screen.title or screen.name,
        "release": RELEASE,
        "theme": screen.theme,
        "rotate_s": screen.rotate_s,
        "now_ms": now_ms,
        "age_ms": now_ms - overview["at_ms"] if overview else None,
        "pages": [[_panel(each, overview, keys) for each in page] for page in pages_of(screen.panels)],
    }


def _panel(panel: Panel, overview: Mapping[str, Any], keys: LiveKeys) -> dict[str, Any]:
    about = {"kind": panel.kind, "topic": panel.topic, "metric": panel.metric}
    topics = overview.get("topics", ())
    match panel.kind:
        case "figures":
            of = _topic(topics, panel.topic) if panel.topic else overview.get("totals")
            values = {name: of[name] for name in (*_FIGURES, "workers")} if of else None
            return about | {"values": values}
        case "topics":
            found = [each for each in topics if fnmatchcase(each["name"], panel.topic or "*")]
            found.sort(key=lambda each: (not each["problems"], -each["backlog"], each["name"]))
            lines = [{name: each.get(name) for name in _LINE} for each in found[:LINES_MOST]]
            return about | {"lines": lines, "more": len(found) - len(lines)}
        case "problems":
            wrong = [each for each in overview.get("problems", ()) if _is_of(each, panel.topic)]
            return about | {"lines": wrong[:LINES_MOST], "more": max(0, len(wrong) - LINES_MOST)}
        case "alerts":
            rows = Alert.objects.filter(state=Alert.State.FIRING).order_by("fired_ms")
            lines = [
                {"name": each.name, "topic": each.topic, "topics": len(each.topics), "severity": each.severity,
                 "fired_ms": each.fired_ms}
                for each in rows[:LINES_MOST]
            ]  # fmt: skip
            return about | {"lines": lines, "more": max(0, rows.count() - LINES_MOST)}
        case "chart":
            return about | {"points": _points(panel, keys)}
        case _:
            return about | {"slots": _slots(panel, keys)}


def _topic(topics: Any, name: str) -> Any:
    return next((each for each in topics if each["name"] == name), None)


def _is_of(problem: Mapping[str, Any], pattern: str) -> bool:
    return not pattern or fnmatchcase(problem["topic"] or "", pattern)


def _points(panel: Panel, keys: LiveKeys) -> list[list[Any]]:
    """Time and value, of the last quarter of an hour."""
    rows = rows_of(engine().client.run(store.read_history(keys.history(panel.topic))))
    place = POINT.index(panel.metric)
    every = max(1, -(-len(rows) // POINTS_MOST))
    return [[row[0], row[place]] for row in rows[::-1][::every][::-1]]


def _slots(panel: Panel, keys: LiveKeys) -> list[float | int] | None:
    """None until the keeper has looked: it keeps the slots of topics that somebody watches."""
    client = engine().client
    client.run(store.watch(client.keyspace, keys.watch, panel.topic))
    frame = client.run(store.read_frame(keys.topic(panel.topic)))
    found = json.loads(frame[1]).get("slots", {}).get(panel.metric) if frame else None
    return list(found) if found is not None else None
