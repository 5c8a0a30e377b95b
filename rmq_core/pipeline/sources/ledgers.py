"""What a slot's ledger says: how much each of its queues holds, and what was counted, at one instant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from rmq_core.errors import PipelineError, ScriptFailed
from rmq_core.model.formats import shape_of
from rmq_core.model.stats import COUNTERS, Counters, is_spoiled, number
from rmq_core.pipeline.schemas import PARTS, SCORED
from rmq_core.pipeline.sources.decoding import position_of
from rmq_core.protocol.keys import SlotKeys
from rmq_core.protocol.scripts import Call, script
from rmq_core.transport.sync import Connection

COUNTED = ("store", "retry", "prepare", "dead", "body", "failed")
"""Parts of which it says how much they hold, in its order."""
_TYPES: dict[str, tuple[str, ...]] = dict.fromkeys(SCORED, ("zset",))
_TYPES |= {"store": ("zset", "stream"), "journal": ("stream",)}


def ledger_call(keys: SlotKeys) -> Call:
    """The call that reads a slot's ledger."""
    names = [keys.store, keys.retry, keys.prepare, keys.dead, keys.body, keys.failed, keys.stats]
    of_group = ([keys.positions], [keys.group]) if keys.group else ([], [])
    return Call(script("ledger"), [*names, keys.journal, *of_group[0]], of_group[1])


def held(reply: list[Any], parts: tuple[str, ...]) -> int:
    """How much these parts hold, of what ``ledger.lua`` returns, as far as it says."""
    return sum(int(count) for part, count in zip(COUNTED, reply[1:], strict=False) if part in parts)


def read_ledger(reply: list[Any]) -> dict[str, Any]:
    """Inverse of what ``ledger.lua`` returns; plain values, fit for JSON."""
    now, store, retry, prepare, dead, bodies, failed, stats, entries, newest, added, position = reply
    said = {stats[i]: stats[i + 1] for i in range(0, len(stats), 2)}
    counters = asdict(Counters.read(said, number))
    return {
        "now_ms": now,
        "store": store,
        "retry": retry,
        "prepare": prepare,
        "dead": dead,
        "bodies": bodies,
        "failed": failed,
        "counters": counters,
        "spoiled": [name for name in (*COUNTERS, "corrected", "journaled") if is_spoiled(said.get(name.encode(), 0))],
        "journaled": number(said.get(b"journaled", 0)),
        "told": number(said.get(b"told", 0)),
        "corrected": number(said.get(b"corrected", 0)),
        "shape": shape_of("", said.get(b"shape")) or "",
        "writes": said.get(b"journal", b"o")[:1] != b"o",
        "entries": entries,
        "newest": newest.decode(),
        "newest_at": position_of(newest.decode()),
        "around": _around(added, counters["sent"], said.get(b"taken_back")),
        "position": position.decode(errors="replace"),
    }


def _around(added: int, sent: int, taken_back: bytes | None) -> int:
    """How many entries a stream got that the engine has not added; 0 also where server or slot cannot say it."""
    return 0 if added < 0 or taken_back is None else added - sent - number(taken_back)


@contextmanager
def naming(connection: Connection, slots: Iterable[tuple[str, int, SlotKeys]]) -> Iterator[None]:
    """What a server refuses inside, of these slots of topics, raises `PipelineError` where a key is none of ours."""
    try:
        yield
    except ScriptFailed:
        for topic, slot, keys in slots:
            _check_types(connection, keys, f"topic {topic}, slot {slot}")
        raise


def _check_types(connection: Connection, keys: SlotKeys, where: str) -> None:
    """Raises `PipelineError` for a key of a slot that somebody has made something else of."""
    for name in (*PARTS, "stats", "journal"):
        key = getattr(keys, name)
        wanted = _TYPES.get(name, ("hash",))
        (found,) = connection.run([("TYPE", key)])
        kind = found.decode() if isinstance(found, bytes) else str(found)
        if kind not in ("none", *wanted):
            raise PipelineError(
                f"{where}: the key {key} is of the type {kind}, not {' or '.join(wanted)}: somebody has overwritten it;"
                f" remove it (DEL), and the report says what it has held"
            )
