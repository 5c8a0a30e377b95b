"""That a restore is under way is known in its slots: what is not said there any more puts nothing back."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from rmq_core.client.rmq import RMQ
from rmq_core.errors import RMQError
from rmq_core.model.topic import Topic
from rmq_core.ops import putting_back
from rmq_core.pipeline.archive.lock import ArchiveLock
from rmq_core.pipeline.sources.options import SourceOptions


@contextmanager
def under_way(options: SourceOptions, topics: list[Topic], lock: ArchiveLock) -> Iterator[str]:
    """Gives a restore its name. Once it is over, what a task of it does that was given up changes nothing: consumers
    may have finished by now what it would put back. Raises `PipelineError` where somebody else has the lock by now:
    who erases breaks off what is under way, and so this is asked behind the beginning."""
    name = uuid.uuid4().hex
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_ms=options.retry_for_ms) as client:
        client.run(putting_back.begin(client.keyspace, topics, name))
        lock.check()
        try:
            yield name
        finally:
            with suppress(RMQError):  # it ends by itself, and the next one comes in its place
                client.run(putting_back.end(client.keyspace, topics))


def break_off(options: SourceOptions) -> None:
    """For who has the lock and erases: a restore that stood still for longer than its lease would put back what it has
    read before."""
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_ms=options.retry_for_ms) as client:
        client.run(putting_back.end(client.keyspace, replace(options, topics=()).definitions()))
