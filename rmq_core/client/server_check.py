"""Whether a server is one that messages may be entrusted to."""

from __future__ import annotations

import logging

from rmq_core.errors import EvictionEnabled, ScriptFailed, ServerTooOld
from rmq_core.model.programs import per_node, program_of
from rmq_core.protocol.scripts import OfMasters, Operation

log = logging.getLogger(__name__)

OLDEST_SERVER = (6, 2)


def check(allow_eviction: bool) -> Operation[None]:
    """Refuses one that is too old or may throw messages away. Raises `ServerTooOld`, `EvictionEnabled`."""
    try:
        (server,) = yield [OfMasters(("INFO", "server"))]
        (memory,) = yield [OfMasters(("INFO", "memory"))]
    except ScriptFailed as error:
        log.warning(
            "the server does not answer INFO (%s): its version and eviction policy were not checked",
            error,
        )
        return
    for info in per_node(server):
        version = str(info.get("redis_version", "0"))
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_SERVER:
            raise ServerTooOld(f"{program_of(info)} is too old: the scripts need Redis 6.2, Valkey, or newer ones")
    for info in per_node(memory):
        policy = info.get("maxmemory_policy", "noeviction")
        if policy != "noeviction" and not allow_eviction:
            raise EvictionEnabled(
                f"the server's maxmemory-policy is {policy!r}: under memory pressure it would delete messages. Set"
                " maxmemory-policy noeviction, or pass allow_eviction=True if losing messages is acceptable"
            )
