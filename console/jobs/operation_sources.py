"""Where an operation's messages come from, a bounded number at a time, from a saved place on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from console.access import Action
from console.engine import engine
from console.jobs.operation_parts import Removed, unpacked
from console.models import Operation, OperationPart
from rmq_core.model.filters import MessageFilter
from rmq_core.model.ids import MessageRef
from rmq_core.model.views import MessageRow
from rmq_core.ops.matching import elsewhere

SCAN = 5_000
LOOK_S = 0.2
"""A scan that finds little says after this time how far it is."""


@dataclass(frozen=True)
class Taken:
    """Some messages. `cursor`: the place to go on from; `looked_at`: so many in all; `ended`: no more.

    `removed`: when the copies that are meant died, or were taken out, where that matters.
    """

    refs: list[MessageRef]
    cursor: str
    looked_at: int
    ended: bool
    removed: Removed = field(default_factory=dict)


class Source(Protocol):
    def take(self, most: int) -> Taken:
        """Up to `most` messages; fewer, or none, is not the end."""

    def close(self) -> None:
        """It is no longer needed."""


def source_of(operation: Operation) -> Source:
    """The source of an operation's messages, at its saved place."""
    if operation.undoes_id is not None:
        return Undone(operation)
    return Ahead(Matching(operation)) if operation.filter is not None else Named(operation)


class Named:
    """Messages that were named one by one."""

    def __init__(self, operation: Operation) -> None:
        self._refs = [MessageRef(slot, ident) for slot, ident, *_ in operation.refs]
        self._seen = {MessageRef(slot, ident): (at, at) for slot, ident, *more in operation.refs for at in more}
        self._at = int(operation.cursor or 0)

    def take(self, most: int) -> Taken:
        refs = self._refs[self._at : self._at + most]
        self._at += len(refs)
        return Taken(refs, str(self._at), self._at, self._at >= len(self._refs), self._seen)

    def close(self) -> None:
        pass


class Matching:
    """What a filter matches; what comes to match after the first look is left out, so there is an end."""

    def __init__(self, operation: Operation) -> None:
        assert operation.filter is not None
        self._topic = operation.topic
        self._filter = MessageFilter.from_mapping(operation.filter)
        self._wanted = operation.values if operation.action == Action.RESCHEDULE else {}
        self._in_time = operation.values.get("overdue") is False
        self._cursor = operation.cursor
        self._looked_at = operation.looked_at
        self._ended = False

    def take(self, most: int) -> Taken:
        began = time.monotonic()
        refs: list[MessageRef] = []
        while len(refs) < most and not self._ended and (time.monotonic() - began < LOOK_S):
            refs += self._look(most - len(refs))
        return Taken(refs, self._cursor, self._looked_at, self._ended)

    def _look(self, most: int) -> list[MessageRef]:
        inspector, place = engine().inspector, self._cursor or None
        if self._wanted or self._in_time:
            found = inspector.select(self._topic, self._filter, cursor=place, scan=SCAN, limit=most)
            refs = self._meant(found.rows)
            following, self._looked_at = found.next_cursor, found.looked_at
        else:
            named = inspector.select_refs(self._topic, self._filter, cursor=place, scan=SCAN, limit=most)
            refs, following, self._looked_at = list(named.refs), named.next_cursor, named.looked_at
        self._ended = following is None
        self._cursor = following or self._cursor
        return refs

    def _meant(self, rows: Sequence[MessageRow]) -> list[MessageRef]:
        """Of the trash, not what would be due already. Of those to reschedule, not what is so already."""
        if self._in_time:
            return [row.ref for row in rows if row.was != "ready"]
        client = engine().client
        (value,) = self._wanted.values()
        return client.run(client.on_topic(elsewhere, self._topic, rows, value))


class Ahead:
    """Looks for the next messages while the last ones are acted on: half of the time is Redis's, half is ours."""

    def __init__(self, source: Matching) -> None:
        self._source = source
        self._thread = ThreadPoolExecutor(1, "looking-ahead")
        self._next: Future[Taken] | None = None

    def take(self, most: int) -> Taken:
        taken = self._source.take(most) if self._next is None else self._next.result()
        # Few at a time means slowly: then there is nothing to gain.
        ahead = most >= SCAN and not taken.ended
        self._next = self._thread.submit(self._source.take, most) if ahead else None
        return taken

    def close(self) -> None:
        self._thread.shutdown()


class Undone:
    """What another operation took out; the place is a part of it and how much of that is done."""

    def __init__(self, operation: Operation) -> None:
        assert operation.undoes_id is not None
        self._of = operation.undoes_id
        self._seen = operation.looked_at
        number, _, offset = (operation.cursor or "-1:0").partition(":")
        self._number, self._offset = int(number), int(offset)
        self._refs, self._removed = self._read(self._number)

    def take(self, most: int) -> Taken:
        if self._offset >= len(self._refs):
            following = (
                OperationPart.objects.filter(operation_id=self._of, number__gt=self._number)
                .order_by("number")
                .values_list("number", flat=True)
                .first()
            )
            if following is None:
                return Taken([], self._place, self._seen, True)
            self._number, self._offset = following, 0
            self._refs, self._removed = self._read(following)
        refs = self._refs[self._offset : self._offset + most]
        self._offset += len(refs)
        self._seen += len(refs)
        return Taken(refs, self._place, self._seen, False, self._removed)

    @property
    def _place(self) -> str:
        return f"{self._number}:{self._offset}"

    def close(self) -> None:
        pass

    def _read(self, number: int) -> tuple[list[MessageRef], Removed]:
        stored = OperationPart.objects.filter(operation_id=self._of, number=number).values_list("refs", flat=True)
        return unpacked(stored.first() or "[]")
