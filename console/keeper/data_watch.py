"""Looks whether the server still holds the data that it did."""

from __future__ import annotations

import contextlib

from console.engine import AsyncEngine
from console.models import DataLoss
from console.snapshots import data_mark
from console.snapshots.store import LiveKeys
from console.threads import DatabaseThread
from console.usecases import data_loss
from console.usecases.data_loss import Verdict
from rmq_core.errors import ServerFull

COUNT_EVERY_MS = 5_000
"""What a server goes back by is noticed from so much on."""


class DataWatch:
    """One of its owner's, with its owner's engine and thread."""

    def __init__(self, engine: AsyncEngine, keys: LiveKeys, database: DatabaseThread) -> None:
        self._client = engine.client
        self._key = keys.data
        self._database = database
        self._seen_ms = 0

    async def look(self) -> DataLoss | None:
        """What stands: the server holds other data than it did. Raises `RMQError`, `DatabaseError`."""
        before = await self._database.call(data_loss.known)
        found = await self._client.run(data_mark.read(self._client.keyspace, self._key))
        verdict = data_loss.judge(before, found.mark)
        loss = None if before is None else before.loss
        # Also before anybody looked: a note of the former data went with it.
        restored = loss is not None and (found.restored_ms or 0) > loss.seen_ms
        if verdict is Verdict.NEW or (restored and verdict is not Verdict.SAME):
            with contextlib.suppress(ServerFull):
                mark = await self._client.run(data_mark.count(self._key, found.now_ms))
                await self._database.call(data_loss.take, before, mark, DataLoss.How.RESTORED if restored else None)
            return None
        assert before is not None
        if verdict is not Verdict.SAME:
            back_ms = found.mark.at_ms if found.mark and verdict is Verdict.OLDER else None
            seen_ms = max(before.at_ms, self._seen_ms)
            found_out = await self._database.call(data_loss.lose, before, seen_ms, found.now_ms, back_ms)
            return found_out or await self.look()  # another one wrote meanwhile, maybe of this very loss
        self._seen_ms = found.now_ms
        if loss is not None:
            await self._database.call(data_loss.returned, before)
        elif not 0 <= found.now_ms - before.at_ms < COUNT_EVERY_MS:
            with contextlib.suppress(ServerFull):
                mark = await self._client.run(data_mark.count(self._key, found.now_ms))
                await self._database.call(data_loss.keep, mark)
        return None
