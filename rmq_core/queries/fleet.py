"""The workers, and the server behind it all."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, cast, get_args

from rmq_core.model.programs import per_node, program_of
from rmq_core.model.text import NAME_MAX, check_name, shown
from rmq_core.model.views import ServerInfo, Turns, Unreadable, WorkerInfo
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import OfMasters, Operation
from rmq_core.queries.owners import from_ranges
from rmq_core.queries.present import now_ms
from rmq_core.queries.sampling import pairs

LOST_AFTER_MS = 5_000
TEXT_MOST = 200
Session = Literal["shared", "connected", "suspended", "lost"]
State = Literal["running", "stopping", "lost"]


class Fleet(NamedTuple):
    """Every worker seen lately, by name; and rows that are no report of a worker."""

    workers: list[WorkerInfo]
    unreadable: list[Unreadable]


def workers(keyspace: Keyspace) -> Operation[list[WorkerInfo]]:
    """Every worker seen lately, by name: one bad row hides no other."""
    return (yield from read_workers(keyspace)).workers


def read_workers(keyspace: Keyspace) -> Operation[Fleet]:
    """Every worker, rows that cannot be read among them."""
    now = yield from now_ms(keyspace)
    (stored,) = yield [("HGETALL", keyspace.workers)]
    items = stored.items() if isinstance(stored, dict) else pairs(stored).items()
    found = Fleet([], [])
    for name, value in items:
        try:
            found.workers.append(_worker(name, value, now))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            problem = f"is no report of a worker: {shown(f'{type(error).__name__}: {error}', TEXT_MOST)}"
            found.unreadable.append(Unreadable("worker", shown(bytes(name), TEXT_MOST), problem))
    found.workers.sort(key=lambda worker: worker.name)
    return found


def _worker(name: bytes, stored: bytes, now: int) -> WorkerInfo:
    values = json.loads(stored, parse_constant=_refuse)
    seen_ms = _whole(values, "seen_ms")
    slots = {_text(topic): from_ranges(ranges) for topic, ranges in _mapping(values["slots"]).items()}
    return WorkerInfo(
        name=check_name(name.decode(), NAME_MAX),
        host=_text(values["host"]),
        pid=_whole(values, "pid"),
        topics=tuple(_text(topic) for topic in values["topics"]),
        started_ms=_whole(values, "started_ms"),
        seen_ms=seen_ms,
        threads=_whole(values, "threads"),
        in_flight=_whole(values, "in_flight"),
        done=_whole(values, "done"),
        failed=_whole(values, "failed"),
        done_per_s=_number(values["done_per_s"]),
        stuck=_whole(values, "stuck"),
        version=_text(values["version"]),
        # A word of a newer release stands for the usual one: that the worker is there is what matters.
        state=cast(State, "lost" if now - seen_ms > LOST_AFTER_MS else _word(values["state"], State)),
        stale=_whole(values, "stale"),
        session=cast(Session, _word(values["session"], Session)),
        session_since_ms=seen_ms - _whole(values, "session_for_ms"),
        weight=_whole(values, "weight"),
        slots=slots,
        versions={_text(topic): _whole(_mapping(values["versions"]), topic) for topic in values.get("versions", ())},
        free=_whole(values, "free") if "free" in values else None,
        turns={_text(topic): _turns(each) for topic, each in _mapping(values.get("turns", {})).items()},
        at_most_once=tuple(_text(topic) for topic in values.get("at_most_once", ())),
    )


def _turns(value: Any) -> Turns:
    return Turns(_whole(value, "running"), _whole(value, "most"), _whole(value, "could"))


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where text should be")
    return shown(value, TEXT_MOST)


def _whole(values: Any, name: str) -> int:
    value = values[name]
    if type(value) is not int or abs(value) > 2**53:
        raise ValueError(f"{name} is no whole number")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("done_per_s is no number")
    return float(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{type(value).__name__} where an object should be")
    return value


def _word(value: Any, words: Any) -> str:
    return value if value in get_args(words) else get_args(words)[0] if words is State else "connected"


def server(_: Keyspace) -> Operation[ServerInfo]:
    """The Redis server behind it all, or the masters of the Cluster."""
    (info,) = yield [OfMasters(("INFO",))]
    nodes = per_node(info)
    programs = [program_of(node) for node in nodes]

    def total(field: str) -> int:
        return sum(int(node.get(field, 0)) for node in nodes)

    def used(node: Mapping[str, Any]) -> float:
        most = int(node.get("maxmemory", 0))
        return int(node.get("used_memory", 0)) / most if most else 0.0

    return ServerInfo(
        program=_all(program.family for program in programs),
        version=_all(program.version for program in programs),
        mode=str(nodes[0].get("redis_mode") or nodes[0].get("server_mode", "?")),  # Valkey has the second
        used_memory=total("used_memory"),
        maxmemory=total("maxmemory"),
        policy=_all(str(node.get("maxmemory_policy", "?")) for node in nodes),
        ops_per_s=total("instantaneous_ops_per_sec"),
        fullest=max(map(used, nodes)),
    )


def _all(words: Iterable[str]) -> str:
    return ", ".join(sorted(set(words)))
