"""A stream topic with consumer groups, and what tests ask of them."""

from __future__ import annotations

from typing import Any

from rmq_core import TopicKind
from tests.engine.conformance.bench import Bench

GROUP = "events@statistics"


async def stream(bench: Bench, groups: tuple[str, ...] = ("statistics",), **options: Any) -> Any:
    topic = await bench.topic(TopicKind.STREAM, "events", **options)
    for group in groups:
        await bench.q.define_group("events", group, start="end")
    return topic


async def sample(bench: Bench, name: str = GROUP) -> Any:
    (found,) = await bench.inspector.sample([name])
    return found


async def texts(bench: Bench, name: str = GROUP) -> list[str]:
    """Takes, and acknowledges, all there is now."""
    return [delivery.text for delivery in await bench.drain(name)]
