"""Saying of a topic's dead letters: seen, they may stay."""

from __future__ import annotations

from typing import Any

from console.engine import engine, sample_of
from console.options import options
from console.snapshots import acknowledgements
from console.snapshots.acknowledgements import LOOKED_AT, Acknowledgement
from console.snapshots.store import LiveKeys


def acknowledge(topic: str, until_ms: int | None, by: str, reason: str) -> dict[str, Any]:
    """Everything that has died up to a time (epoch ms; None: until now) is known to somebody.

    Returns the acknowledgement; its `count` is how many dead letters it covers.
    """
    definition = engine().client.topic(topic)
    inspector = engine().inspector
    now_ms = inspector.now_ms()
    until_ms = now_ms if until_ms is None else min(until_ms, now_ms)
    key = LiveKeys(options().namespace).acknowledged
    # Somebody whose page is older takes back nothing that another one knows.
    before = engine().client.run(acknowledgements.read(key)).get(topic)
    if before is not None and before.version <= definition.version:
        until_ms = max(until_ms, min(before.until_ms, now_ms))
    sample = sample_of(topic)
    rows = inspector.messages(topic, "dead", newest=True, limit=LOOKED_AT).rows
    count = max(0, sample.dead - acknowledgements.newer(rows, until_ms))
    made = Acknowledgement(until_ms, count, by, now_ms, definition.version, reason)
    engine().client.run(acknowledgements.write(key, topic, made))
    return made.as_json()
