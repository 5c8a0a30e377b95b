"""The newest frames, fetched once per process however many viewers it has."""

from __future__ import annotations

import asyncio
import weakref
from collections import OrderedDict

from console.engine import async_engine
from console.snapshots.store import read_frame

KEPT = 256


class Frames:
    """A small cache of one event loop: key → sequence number and text."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[int, str]] = OrderedDict()
        self._fetching: dict[str, asyncio.Task[tuple[int, str] | None]] = {}

    async def newest(self, key: str, at_least: int) -> tuple[int, str] | None:
        """The frame under `key`, fetched unless one with that sequence number is here; None: there is none."""
        kept = self._kept.get(key)
        if kept and at_least and kept[0] >= at_least:
            return kept
        task = self._fetching.get(key)
        if task is None:
            task = self._fetching[key] = asyncio.create_task(self._fetch(key))
        return await asyncio.shield(task)

    async def _fetch(self, key: str) -> tuple[int, str] | None:
        try:
            found = await async_engine().client.run(read_frame(key))
        finally:
            del self._fetching[key]
        if found is not None:
            self._kept[key] = found
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found


_by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Frames] = weakref.WeakKeyDictionary()


def frames() -> Frames:
    """The running event loop's cache."""
    loop = asyncio.get_running_loop()
    if loop not in _by_loop:
        _by_loop[loop] = Frames()
    return _by_loop[loop]
