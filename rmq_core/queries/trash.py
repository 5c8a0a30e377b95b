"""Messages packed into one text, as `lua/shared/records.lua` does: those in the trash, and dead letters."""

from __future__ import annotations

from typing import NamedTuple

from rmq_core.model.bodies import Body, decode_body
from rmq_core.model.fingerprints import UNKNOWN
from rmq_core.model.scores import RETRIED_MAX, due_of, exact, priority_of
from rmq_core.model.states import State
from rmq_core.model.topic import Topic
from rmq_core.model.views import FailureRecord

_NONE = b"-"

OWN_POOL: dict[State, str] = {"trash": "trashed", "dead": "dead_record", "in_flight": "replaced"}
"""Where the copies in these states have what is theirs alone, beside the pools of the copy that waits."""


class Trashed(NamedTuple):
    """One of them. ``score`` is that of the queue it was in; ``cluster``: of a dead letter, where it has one."""

    queue: str
    score: float
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
            exact(score),
            None if priority == _NONE else priority_of(float(priority)),
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
            return "retrying"
        return "delayed" if topic.timed and due_of(self.score) > max(RETRIED_MAX, now_ms) else "ready"


def own_body(state: State, pooled: bytes | None, own: bytes | None) -> bytes | None:
    """The body of a copy, out of the shared pool and of `OWN_POOL`; None: its content is the id."""
    if own is None:
        return None if state == "trash" else pooled
    if state in {"trash", "dead"}:
        return Trashed.read(own).body
    return own or None if state == "in_flight" else pooled
