"""What a topic's listeners tell of their messages, on its way to the server: gathered, and told every 100 ms; a result
before its message is settled.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Protocol

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.errors import RMQError, TopicReshaped
from rmq_core.model.report import LINES_MAX, Note
from rmq_core.model.topic import Topic
from rmq_core.ops import reporting
from rmq_core.transport.tasks import end
from rmq_core.worker.handing_back import hand_back
from rmq_core.worker.trouble import Trouble

TOLD_EVERY_S = 0.1
TRIES = 3
"""For what was extended while it was told."""


class Place(Protocol):
    """What it needs of a `TopicWork`."""

    client: AsyncRMQ
    definition: Topic
    loop: asyncio.AbstractEventLoop
    trouble: Trouble


class Reports:
    """One for a listener. `note` is called in any thread, all else in the engine's loop."""

    def __init__(self, topic: Place) -> None:
        self._topic = topic
        self.result_for_ms = topic.definition.result_for_ms
        self._lock = threading.Lock()
        self.pending: dict[int, dict[bytes, Note]] = {}
        """By slot, then by id."""
        self.under_way: dict[int, asyncio.Event] = {}
        """Slots of which something is being told."""
        self._task: asyncio.Task[None] | None = None

    def note(self, note: Note) -> None:
        """Gathers it."""
        with self._lock:
            begins = not self.pending
            self._add(note)
        if begins:
            hand_back(self._topic.loop, self._begin)

    def _add(self, note: Note) -> None:
        notes = self.pending.setdefault(note.delivery.slot, {})
        before = notes.get(note.delivery.raw_id)
        notes[note.delivery.raw_id] = note if before is None else together(before, note)

    def _begin(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._tell(), name="rmq-reports")

    async def _tell(self) -> None:
        while self.pending:
            await asyncio.sleep(TOLD_EVERY_S)
            for slot in list(self.pending):
                try:
                    await self.tell(slot)
                except RMQError as error:
                    self._topic.trouble.say(
                        f"{self._topic.definition.name}[{slot}]: cannot keep what listeners tell", error
                    )

    async def told(self, slot: int) -> None:
        """Ends when all is told that was noted of a slot before. Raises what the server says."""
        for _ in range(TRIES):
            if slot not in self.pending and slot not in self.under_way:
                break
            await self.tell(slot)

    async def tell(self, slot: int) -> None:
        """Tells what there is of a slot. Raises what the server says; then nothing of it is lost."""
        while (other := self.under_way.get(slot)) is not None:
            await other.wait()
        with self._lock:
            notes = list(self.pending.pop(slot, {}).values())
        if not notes:
            return
        over = self.under_way[slot] = asyncio.Event()
        try:
            await self._tell_them(notes)
        finally:
            del self.under_way[slot]
            over.set()

    async def _tell_them(self, notes: list[Note]) -> None:
        receipts = [note.delivery.receipt for note in notes]
        topic = self._topic.definition
        try:
            kept = await self._topic.client.run(reporting.note(self._topic.client.keyspace, topic, notes))
        except TopicReshaped:
            return
        except BaseException:
            self._back(notes)
            raise
        # One that was extended meanwhile has another receipt by now.
        self._back(
            [
                note
                for note, receipt, done in zip(notes, receipts, kept, strict=True)
                if not done and note.delivery.receipt != receipt
            ]
        )

    def _back(self, notes: list[Note]) -> None:
        with self._lock:
            for note in notes:
                newer = self.pending.get(note.delivery.slot, {}).pop(note.delivery.raw_id, None)
                self._add(note if newer is None else together(note, newer))

    async def close(self) -> None:
        """Tells no more."""
        if self._task is not None:
            await end(self._task)


def together(before: Note, note: Note) -> Note:
    """Both as one: the later progress and result, all lines, of which the last ones are kept."""
    if before.delivery is not note.delivery:
        return note
    return note._replace(
        progress=note.progress or before.progress,
        lines=(*before.lines, *note.lines)[-LINES_MAX:],
        result=note.result or before.result,
        result_for_ms=note.result_for_ms or before.result_for_ms,
    )
