"""The newest frames, fetched once per process however many viewers it has."""

from __future__ import annotations

import asyncio
import weakref
from collections import OrderedDict
from typing import Any

from console.access import EVERY_TOPIC
from console.engine import async_engine
from console.snapshots.scoped import scoped_text
from console.snapshots.store import read_frame

KEPT = 256


Frame = tuple[int, str]


class Frames:
    """A small cache of one event loop: key → sequence number and text; and the same for those with some topics."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Frame] = OrderedDict()
        self._scoped: OrderedDict[tuple[str, tuple[str, ...]], Frame] = OrderedDict()
        self._fetching: dict[str, asyncio.Task[Frame | None]] = {}

    async def newest(self, key: str, at_least: int, topics: tuple[str, ...] = (EVERY_TOPIC,)) -> Frame | None:
        """The frame under `key`, as those with these topics see it; fetched unless one with that sequence number is
        here; None: there is none."""
        found = await self._newest(key, at_least)
        if found is None or EVERY_TOPIC in topics:
            return found
        kept = self._scoped.get((key, topics))
        if kept is None or kept[0] != found[0]:
            kept = self._scoped[key, topics] = found[0], scoped_text(found[1], topics)
            _shorten(self._scoped, (key, topics))
        return kept

    async def _newest(self, key: str, at_least: int) -> Frame | None:
        kept = self._kept.get(key)
        if kept and at_least and kept[0] >= at_least:
            return kept
        task = self._fetching.get(key)
        if task is None:
            task = self._fetching[key] = asyncio.create_task(self._fetch(key))
        return await asyncio.shield(task)

    async def _fetch(self, key: str) -> Frame | None:
        try:
            found = await async_engine().client.run(read_frame(key))
        finally:
            del self._fetching[key]
        if found is not None:
            self._kept[key] = found
            _shorten(self._kept, key)
        return found


def _shorten(kept: OrderedDict[Any, Frame], newest: Any) -> None:
    kept.move_to_end(newest)
    while len(kept) > KEPT:
        kept.popitem(last=False)


_by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Frames] = weakref.WeakKeyDictionary()


def frames() -> Frames:
    """The running event loop's cache."""
    loop = asyncio.get_running_loop()
    if loop not in _by_loop:
        _by_loop[loop] = Frames()
    return _by_loop[loop]
