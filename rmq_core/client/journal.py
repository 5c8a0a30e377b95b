"""Reading a topic's journal: what happened to its messages, from where one was. See ``docs/explanation/journal.md``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from rmq_core.client.arguments import topic_name
from rmq_core.client.base import ClientCore
from rmq_core.errors import ConfigurationError, InvalidMessage
from rmq_core.journal import Gap, Position, Read, Transition, reader
from rmq_core.model.bounds import slot_of
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation

T = TypeVar("T")


class _Run(Protocol):
    def __call__(self, operation: Operation[T], /) -> T: ...


class _AsyncRun(Protocol):
    async def __call__(self, operation: Operation[T], /) -> T: ...


class _Reading:
    """Where a reader is, and the operations that take it on."""

    def __init__(
        self, core: ClientCore, topic: str | Topic, name: str | None, slots: int | Iterable[int] | None
    ) -> None:
        self.topic = topic_name(topic)
        self.name = None if name is None else reader.checked_name(name)
        self.positions: dict[int, Position] = {}
        self._core = core
        self._slots = (slots,) if isinstance(slots, int) else None if slots is None else tuple(slots)
        self._begun = name is None

    def _next(self, count: int) -> Operation[Read]:
        if type(count) is not int or count < 1:
            raise InvalidMessage(f"count={count!r} must be a whole number above 0")
        return (yield from self._core.on_any_topic(self._read, self.topic, count))

    def _passed(self, found: Read) -> Callable[[Transition | Gap], None]:
        """Takes the reader on behind each entry whose last transition somebody is done with, and no further."""
        ends = {(each.slot, each.n): each.seq for each in found.transitions}

        def passed(each: Transition | Gap) -> None:
            if isinstance(each, Transition) and ends[each.slot, each.n] == each.seq:
                self.positions[each.slot] = Position(each.entry_id, each.n)

        return passed

    def _read(self, keyspace: Keyspace, topic: Topic, count: int) -> Operation[Read]:
        slots = range(topic.slots) if self._slots is None else self._slots
        for slot in slots:
            slot_of(topic, slot)
        if not self._begun and self.name is not None:
            yield from reader.register(keyspace, topic, self.name)
            self.positions = (yield from reader.positions(keyspace, topic))[self.name]
            self._begun = True
        return (yield from reader.read(keyspace, topic, slots, self.positions, count))

    def _commit(self) -> Operation[None]:
        return self._core.on_any_topic(reader.commit, self.topic, self._named(), dict(self.positions))

    def _forget(self) -> Operation[bool]:
        self._begun = False
        return self._core.on_any_topic(reader.forget, self.topic, self._named())

    def _named(self) -> str:
        if self.name is None:
            raise ConfigurationError(
                "only a durable reader commits and is forgotten: rmq.journal(topic, reader='name')"
            )
        return self.name


class JournalReader(_Reading):
    """A topic's journal, read on and on.

        for each in rmq.journal("mail"):  # every transition and gap up to now, oldest first
            print(each)

    With a name it is durable: it begins behind what was committed under that name, and from its first read on nothing
    is trimmed that it has not committed, until `forget`. Not to be shared between threads.
    """

    def __init__(
        self, core: ClientCore, run: _Run, topic: str | Topic, name: str | None, slots: int | Iterable[int] | None
    ) -> None:
        super().__init__(core, topic, name, slots)
        self._run = run

    def read(self, count: int = reader.ENTRIES_AT_ONCE) -> Read:
        """What follows, up to ``count`` entries of each slot; the next one goes on there. Raises `UnknownTopic`."""
        found = self._run(self._next(count))
        self.positions.update(found.positions)
        return found

    def __iter__(self) -> Iterator[Transition | Gap]:
        """All that was written up to now, in order of time. To go on later, iterate again, also after a ``break``."""
        while True:
            found = self._run(self._next(reader.ENTRIES_AT_ONCE))
            passed = self._passed(found)
            for each in found.in_order():
                yield each
                passed(each)
            self.positions.update(found.positions)
            if not found.behind:
                return

    def commit(self) -> None:
        """Notes durably that what was read is done with. Raises `ConfigurationError` for a reader without a name."""
        self._run(self._commit())

    def forget(self) -> bool:
        """Ends a durable reader: it holds nothing back any more. Whether there was one."""
        return self._run(self._forget())


class AsyncJournalReader(_Reading):
    """The same, awaited: ``async for each in rmq.journal("mail")``."""

    def __init__(
        self, core: ClientCore, run: _AsyncRun, topic: str | Topic, name: str | None, slots: int | Iterable[int] | None
    ) -> None:
        super().__init__(core, topic, name, slots)
        self._run = run

    async def read(self, count: int = reader.ENTRIES_AT_ONCE) -> Read:
        """What follows, up to ``count`` entries of each slot; the next one goes on there. Raises `UnknownTopic`."""
        found = await self._run(self._next(count))
        self.positions.update(found.positions)
        return found

    async def __aiter__(self) -> AsyncIterator[Transition | Gap]:
        """All that was written up to now, in order of time. To go on later, iterate again, also after a ``break``."""
        while True:
            found = await self._run(self._next(reader.ENTRIES_AT_ONCE))
            passed = self._passed(found)
            for each in found.in_order():
                yield each
                passed(each)
            self.positions.update(found.positions)
            if not found.behind:
                return

    async def commit(self) -> None:
        """Notes durably that what was read is done with. Raises `ConfigurationError` for a reader without a name."""
        await self._run(self._commit())

    async def forget(self) -> bool:
        """Ends a durable reader: it holds nothing back any more. Whether there was one."""
        return await self._run(self._forget())
