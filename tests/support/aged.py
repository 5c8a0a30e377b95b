"""Makes what was written down look as if it had been earlier."""

from __future__ import annotations

import json
from typing import Any

from rmq_core import RMQ


def age_bands(client: RMQ, topic: str, by_ms: int) -> None:
    """What a keeper noted of a topic's priorities."""
    age_text(client.connection.client, client.keyspace.bands(topic), by_ms)


def age_text(redis: Any, key: str, by_ms: int) -> None:
    """The same, of the text under a key."""
    noted = json.loads(redis.get(key))
    noted["taken"] = [[number, at_ms - by_ms] for number, at_ms in noted["taken"]]
    for slot, rows in noted["accepted"].items():
        noted["accepted"][slot] = [[number, at_ms - by_ms] for number, at_ms in rows]
    noted["firsts"] = [[*place, at_ms - by_ms] for *place, at_ms in noted["firsts"]]
    redis.set(key, json.dumps(noted))
