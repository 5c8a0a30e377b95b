"""What a worker says at its start of what it consumes with ``acks="none"``: what may be lost, which promises end."""

from __future__ import annotations

from collections.abc import Iterator

from rmq_core.model.tenants import limits_of
from rmq_core.model.topic import OnFailure, Topic


def warnings(topic: Topic, shared: bool) -> Iterator[str]:
    """``shared``: whether several workers take from one slot, so that only what is in flight keeps them apart."""
    yield "what fails, or is in hand when it dies, is lost"
    if topic.on_failure is OnFailure.WAIT:
        yield "nothing waits behind what failed (on_failure='wait')"
    if shared and topic.in_order:
        yield "other workers may begin the next version of a key meanwhile (in_order): give it ZooKeeper, or one worker"
    if any(limit.at_once for limit in limits_of(topic.tenant_limits).values()):
        yield "what runs is not in flight, so 'at once' of tenant_limits counts none of it"
