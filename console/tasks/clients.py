"""The backends' connections to the queue."""

from __future__ import annotations

import functools

from rmq_core.client.rmq import RMQ


@functools.cache
def client(redis_url: str, namespace: str) -> RMQ:
    """Shared by the threads of this process."""
    return RMQ(redis_url, namespace)
