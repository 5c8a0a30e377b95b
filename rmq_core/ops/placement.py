"""What operators want of the assignment: workers without slots, slots with a certain worker. Kept in Redis.

The leader reads them and follows; it hears of a change through the channel of the same name as the hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rmq_core.errors import ConfigurationError
from rmq_core.model.bounds import slot_of
from rmq_core.model.text import NotText, check_name, shown
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.queries.namespace_format import ask

WORKER_MAX = 200
_DRAIN, _PIN = "drain:", "pin:"


@dataclass(frozen=True, slots=True)
class Overrides:
    """``drained``: workers that are to have no slots. ``pins``: topic → slot → worker."""

    drained: frozenset[str] = frozenset()
    pins: Mapping[str, Mapping[int, str]] = field(default_factory=dict)


def read(keyspace: Keyspace) -> Operation[Overrides]:
    """All of them."""
    (stored,) = yield [("HGETALL", keyspace.overrides)]
    pairs = stored.items() if isinstance(stored, dict) else zip(stored[::2], stored[1::2], strict=True)
    drained: set[str] = set()
    pins: dict[str, dict[int, str]] = {}
    for raw_field, raw_value in pairs:
        name = shown(bytes(raw_field))
        if name.startswith(_DRAIN):
            drained.add(name.removeprefix(_DRAIN))
        elif name.startswith(_PIN):
            topic, _, slot = name.removeprefix(_PIN).rpartition(":")
            if slot.isdecimal() and len(slot) < 5:
                pins.setdefault(topic, {})[int(slot)] = shown(bytes(raw_value))
    return Overrides(frozenset(drained), pins)


def drain(keyspace: Keyspace, worker: str, drained: bool) -> Operation[bool]:
    """Takes every slot from a worker, or lets it have some again; whether that is a change."""
    name = f"{_DRAIN}{checked_name(worker)}"
    return _write(keyspace, name, "1" if drained else None)


def pin(keyspace: Keyspace, topic: Topic, slot: int, worker: str | None) -> Operation[bool]:
    """Gives a slot to one worker whenever it is there (None: to whoever); whether that is a change."""
    return _write(
        keyspace, f"{_PIN}{topic.name}:{slot_of(topic, slot)}", None if worker is None else checked_name(worker)
    )


def forget(keyspace: Keyspace, topic: str) -> Operation[None]:
    """Removes the pins of a topic that is gone."""
    overrides = yield from read(keyspace)
    pinned = overrides.pins.get(topic)
    if pinned:
        yield [("HDEL", keyspace.overrides, *(f"{_PIN}{topic}:{slot}" for slot in pinned))]


def _write(keyspace: Keyspace, name: str, value: str | None) -> Operation[bool]:
    before = yield from ask(keyspace, ("HGET", keyspace.overrides, name))
    if value is None:
        change: tuple[str, ...] = ("HDEL", keyspace.overrides, name)
    else:
        change = ("HSET", keyspace.overrides, name, value)
    yield [change, ("PUBLISH", keyspace.overrides, name)]
    return (None if before is None else bytes(before).decode(errors="replace")) != value


def checked_name(worker: str) -> str:
    """A worker's name, if it can be one. Raises `ConfigurationError`."""
    try:
        return check_name(worker, WORKER_MAX)
    except NotText as error:
        raise ConfigurationError(f"the worker name {worker!r:.100} {error}") from None
