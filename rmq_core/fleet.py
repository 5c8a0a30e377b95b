"""The workers, and the server behind it all."""

from __future__ import annotations

import json

from rmq_core.inspection import now_ms
from rmq_core.ownership_log import from_ranges
from rmq_core.sampling import pairs
from rmq_core.scripts import Operation
from rmq_core.slots import Keyspace
from rmq_core.snapshots import ServerInfo, WorkerInfo

LOST_AFTER_MS = 5_000


def workers(keyspace: Keyspace) -> Operation[list[WorkerInfo]]:
    """Every worker heard of lately, by name."""
    now = yield from now_ms(keyspace)
    (stored,) = yield [("HGETALL", keyspace.workers)]
    items = stored.items() if isinstance(stored, dict) else pairs(stored).items()
    return sorted((_worker(name, value, now) for name, value in items), key=lambda worker: worker.name)


def _worker(name: bytes, stored: bytes, now: int) -> WorkerInfo:
    values = {"versions": {}, **json.loads(stored)}
    state = "lost" if now - values["seen_ms"] > LOST_AFTER_MS else values["state"]
    values |= {
        "name": name.decode(),
        "topics": tuple(values["topics"]),
        "state": state,
        "session_since_ms": values["seen_ms"] - values["session_for_ms"],
        "slots": {topic: from_ranges(slots) for topic, slots in values["slots"].items()},
    }
    return WorkerInfo(**{field: values[field] for field in WorkerInfo.__dataclass_fields__})


def server(_: Keyspace) -> Operation[ServerInfo]:
    """The Redis server behind it all."""
    (info,) = yield [("INFO",)]
    nodes = list(info.values()) if info and all(isinstance(value, dict) for value in info.values()) else [info]
    first = nodes[0]

    def total(field: str) -> int:
        return sum(int(node.get(field, 0)) for node in nodes)

    return ServerInfo(
        version=str(first.get("redis_version", "?")),
        mode=str(first.get("redis_mode", "?")),
        used_memory=total("used_memory"),
        maxmemory=total("maxmemory"),
        policy=str(first.get("maxmemory_policy", "?")),
        connected_clients=total("connected_clients"),
        ops_per_s=total("instantaneous_ops_per_sec"),
    )
