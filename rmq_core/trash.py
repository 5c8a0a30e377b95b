"""Cancelled and dropped messages, as `lua/shared/trash.lua` keeps them."""

from __future__ import annotations

from typing import NamedTuple

from rmq_core.fingerprints import UNKNOWN
from rmq_core.message import Body, decode_body
from rmq_core.scores import RETRIED_MAX
from rmq_core.snapshots import FailureRecord, State
from rmq_core.topic import Topic

_NONE = b"-"


class Trashed(NamedTuple):
    """One of them. ``score`` is that of the queue it was in; ``cluster``: of a dead letter, where it told one."""

    queue: str
    score: int
    priority: int | None
    cluster: str | None
    failed: bytes | None
    body: bytes | None

    @classmethod
    def read(cls, packed: bytes) -> Trashed:
        """Inverse of what the script writes."""
        queue, score, priority, cluster, failed, body, rest = packed.split(b" ", 6)
        length = 0 if failed == _NONE else int(failed)
        return cls(
            queue.decode().lower(),  # upper case: see the script
            int(float(score)),
            None if priority == _NONE else int(float(priority)),
            None if cluster == _NONE else cluster.decode(),
            None if failed == _NONE else rest[:length],
            None if body == _NONE else rest[length:],
        )

    def decoded(self, raw_id: bytes) -> Body:
        """Its content and headers."""
        return decode_body(self.body) if self.body is not None else Body(raw_id, {}, 0)

    def fingerprint(self, failure: FailureRecord | None) -> str | None:
        """A dead letter's cluster, else that of its last failure; None: it never failed."""
        if self.queue == "d":
            return self.cluster or UNKNOWN
        return failure.fingerprint if failure else None

    def was(self, topic: Topic, now_ms: int) -> State:
        """The state it is restored to."""
        if self.queue == "d":
            return "dead"
        if self.queue == "r":
            return "waiting"
        return "delayed" if topic.timed and self.score > max(RETRIED_MAX, now_ms) else "ready"
