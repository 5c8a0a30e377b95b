"""The keeper's look at definitions: what applications and the command line change gets into the history as well."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from console.usecases import topic_history as history
from console.engine import AsyncEngine
from rmq_core.errors import RMQError
from rmq_core.model.topic import Topic
from rmq_core.ops import registry

log = logging.getLogger("console.definitions")

LOOK_EVERY_S = 1.0


async def watch_definitions(engine: AsyncEngine, stop: asyncio.Event) -> None:
    """Look every second; the database is only touched when a definition is new, another one, or gone."""
    known: tuple[frozenset[str], dict[str, tuple[int, int]]] | None = None
    complaining = False
    while not stop.is_set():
        try:
            at_ms = await engine.inspector.now_ms()
            topics, unreadable = await engine.client.run(registry.read_everything(engine.client.keyspace))
            left_out = frozenset(each.name for each in unreadable)
            found = (left_out, {topic.name: (topic.version, topic.updated_ms) for topic in topics})
            if found != known:
                await sync_to_async(_look)(topics, at_ms, left_out)
                known = found
            complaining = False
        except RMQError:
            pass  # the sampling beside us says so
        except Exception as error:
            if not complaining:
                log.warning("the history of definitions cannot be written (%s); trying again", error)
            complaining = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), LOOK_EVERY_S)


def _look(topics: list[Topic], at_ms: int, left_out: frozenset[str]) -> None:
    close_old_connections()
    history.look(topics, at_ms, left_out)
