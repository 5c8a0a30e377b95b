"""The newest frames, fetched once per process however many viewers it has."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from console.access import EVERY_TOPIC
from console.engine import async_engine
from console.live.changes import overview_changes
from console.snapshots.scoped import scoped_text
from console.snapshots.store import read_frame

KEPT = 256


Frame = tuple[int, str]


@dataclass(frozen=True)
class _Step:
    """A frame of all topics, read; and `text`: what has changed in it since the frame `since`, if that is known."""

    seq: int
    frame: dict[str, Any]
    since: int = 0
    text: str | None = None


class Frames:
    """A small cache of one event loop: key → sequence number and text; and the same for those with some topics."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Frame] = OrderedDict()
        self._scoped: OrderedDict[tuple[str, tuple[str, ...]], Frame] = OrderedDict()
        self._steps: OrderedDict[tuple[str, tuple[str, ...]], _Step] = OrderedDict()
        self._reading: dict[str, asyncio.Task[str | None]] = {}
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

    async def following(self, key: str, at_least: int, topics: tuple[str, ...], last: int) -> Frame | None:
        """As `newest`, of all topics, for who has the frame with the number `last`: what has changed since, where that
        is known. It is found out once for all of them."""
        found = await self.newest(key, at_least, topics)
        if found is None:
            return None
        step = self._steps.get((key, topics))
        if step is None or step.seq != found[0]:
            step = _step(step, found)
            self._steps[key, topics] = step
            _shorten(self._steps, (key, topics))
        return (found[0], step.text) if step.text is not None and step.since == last else found

    async def text(self, key: str, operation: Any) -> str | None:
        """What an operation reads, read once for all who ask meanwhile: hundreds come back at once after a restart."""
        task = self._reading.get(key)
        if task is None:
            task = self._reading[key] = asyncio.create_task(self._read(key, operation))
        return await asyncio.shield(task)

    async def _read(self, key: str, operation: Any) -> str | None:
        try:
            found: str | None = await async_engine().client.run(operation)
        finally:
            del self._reading[key]
        return found

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


def _step(before: _Step | None, found: Frame) -> _Step:
    frame = json.loads(found[1])
    if before is None:
        return _Step(found[0], frame)
    return _Step(found[0], frame, before.seq, overview_changes(before.frame, frame))


def _shorten(kept: OrderedDict[Any, Any], newest: Any) -> None:
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
