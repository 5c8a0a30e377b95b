"""What is too dear for every second and every topic: the prepare queue and the forecast of watched topics.

Runs beside the sampler, on a connection of its own. The more a look cost, the longer until the next one.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from console.engine import AsyncEngine
from console.keeper.readable import AWAY, words_of
from console.serializers.messages import row_json
from console.serializers.text import dumps
from console.serializers.workers import owners_json
from console.snapshots import store
from console.snapshots.store import LiveKeys
from rmq_core.errors import UnknownTopic
from rmq_core.model.stats import Histogram
from rmq_core.model.topic import Topic
from rmq_core.model.views import Ages, MessageRow
from rmq_core.ops.permits import in_flight

log = logging.getLogger("console.keeper")

EVERY_S = 2.0
FORECAST_EVERY_S = 10.0
FORECAST_MINUTES = 30
FAILED_S = 30.0
SHARE = 20
"""A look may take at most one part in so many of the time until the next."""
OLDEST_SHOWN = 25


class Details:
    """Remembers when each topic is to be looked at again."""

    def __init__(self, engine: AsyncEngine, keys: LiveKeys) -> None:
        self.engine = engine
        self.keys = keys
        self._next: dict[str, float] = {}
        self._failed: set[str] = set()
        self._forecasts: dict[str, tuple[float, tuple[int, ...]]] = {}

    async def round(self, topics: frozenset[str] | set[str]) -> list[str]:
        """Write the details of those topics whose time has come; returns their names."""
        for name in set(self._next) - set(topics):
            self._next.pop(name)
            self._forecasts.pop(name, None)
        written = []
        for name in sorted(topics):
            if self._next.get(name, 0) > time.monotonic():
                continue
            started = time.monotonic()
            try:
                await self._write(name)
            except UnknownTopic:
                continue
            except AWAY:
                raise
            except Exception as error:
                if name not in self._failed:
                    log.warning("the details of topic %s cannot be read: %s", name, words_of(error))
                self._failed.add(name)
                self._next[name] = time.monotonic() + FAILED_S
                continue
            self._failed.discard(name)
            written.append(name)
            self._next[name] = time.monotonic() + max(EVERY_S, SHARE * (time.monotonic() - started))
        return written

    async def _write(self, name: str) -> None:
        inspector = self.engine.inspector
        topic = await self.engine.client.topic(name)
        if topic.is_stream:  # nothing of it is in flight, nothing becomes due
            return
        ages = await inspector.prepare_ages(name)
        page = await inspector.messages(name, "in_flight", limit=OLDEST_SHOWN)
        forecast = await self._forecast(name)
        permits = await self._permits(topic)
        owners = owners_json(await inspector.assignment(name))
        frames = {
            self.keys.details(name, payload): dumps(
                {
                    "type": "details",
                    "at_ms": page.as_of_ms,
                    "visibility_timeout_ms": topic.visibility_timeout_ms,
                    "ages": _ages_json(ages),
                    "oldest": [_in_flight_json(row, topic.visibility_timeout_ms, payload) for row in page.rows],
                    "more": page.next_cursor is not None,
                    "permits": permits,
                    "forecast": list(forecast),
                    "owners": owners,
                }
            )
            for payload in (True, False)
        }
        await self.engine.client.run(store.write_frames(frames, page.as_of_ms))

    async def _permits(self, topic: Topic) -> dict[str, int] | None:
        """None where any number may be in flight."""
        if not topic.concurrency:
            return None
        used = await self.engine.client.run(in_flight(self.engine.client.keyspace, topic))
        return {"used": used, "of": topic.concurrency}

    async def _forecast(self, name: str) -> tuple[int, ...]:
        due, known = self._forecasts.get(name, (0.0, ()))
        if due > time.monotonic():
            return known
        started = time.monotonic()
        known = await self.engine.inspector.forecast(name, FORECAST_MINUTES)
        took = time.monotonic() - started
        self._forecasts[name] = (time.monotonic() + max(FORECAST_EVERY_S, SHARE * took), known)
        return known


def _in_flight_json(row: MessageRow, visibility_timeout_ms: int, payload: bool) -> dict[str, Any]:
    shape = row_json(row, payload)
    taken_ms = row.score_ms or 0
    return shape | {"taken_ms": taken_ms, "until_ms": taken_ms + visibility_timeout_ms}


def _ages_json(ages: Ages) -> dict[str, Any]:
    buckets = sorted(ages.histogram.buckets.items())
    return {
        "looked_at": ages.looked_at,
        "capped": ages.capped,
        "buckets": [[round(Histogram.upper_ms(bucket)), count] for bucket, count in buckets],
    }
