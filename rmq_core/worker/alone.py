"""When one message runs while nothing else does in this process.

What was in flight when a process died is handed out only so (`lua/shared/origins.lua`): if it was that message
which killed it, the next death counts for it, and for no other. While anybody waits for that, no call begins, in any
slot of any topic; what was prefetched is given back; what runs is finished and settled. Then those who wait have one
message each, in turn, until nobody waits.

A slot is at work from the moment it may take until all of it is settled. A call that runs for too long stops counting
(`Alone.end`); one that runs for long and may is waited for.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class Alone:
    """One for a worker; in the engine's loop only."""

    def __init__(self) -> None:
        self.watchers: list[Callable[[], None]] = []
        """Called when it begins to be wanted, and when it no longer is."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._at_work = 0
        self._taken = False

    @property
    def wanted(self) -> bool:
        """Whether somebody runs alone, or waits for it: nobody else begins anything."""
        return self._taken or bool(self._waiting)

    # -- slots at work beside each other

    def begin(self) -> None:
        """A slot is at work."""
        self._at_work += 1

    def end(self) -> None:
        """It no longer is."""
        self._at_work -= 1
        self._grant()

    # -- those who want to be alone

    def ask(self) -> asyncio.Future[None]:
        """Done when nothing else is at work; give it back with `release`, or or take it back with `forget`."""
        before = self.wanted
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        if not before:
            self._tell()
        self._grant()
        return turn

    def forget(self, turn: asyncio.Future[None]) -> None:
        """Whoever asked goes away, whether it was its turn or not."""
        if turn in self._waiting:
            self._waiting.remove(turn)
            if not self.wanted:
                self._tell()
        elif turn.done():
            self.release()

    def release(self) -> None:
        """The next one's turn, or everybody's."""
        self._taken = False
        self._grant()
        if not self.wanted:
            self._tell()

    def _grant(self) -> None:
        while self._waiting and not self._taken and not self._at_work:
            turn = self._waiting.popleft()
            if not turn.done():
                self._taken = True
                turn.set_result(None)

    def _tell(self) -> None:
        for watcher in self.watchers:
            watcher()
