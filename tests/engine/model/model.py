"""One slot of a topic in plain Python, written from the contract: what every operation should do to it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rmq_core.topic import Topic, TopicKind

RETRIED_MAX = 16
SHIFT = 1000


@dataclass
class Body:
    """What a pooled message has beside its id."""

    content: bytes
    version: int


@dataclass
class Model:
    """The same queues as in Redis. Operations return what a caller is told."""

    topic: Topic
    now_ms: int
    store: dict[bytes, int] = field(default_factory=dict)
    retry: dict[bytes, int] = field(default_factory=dict)
    prepare: dict[bytes, int] = field(default_factory=dict)
    dead: dict[bytes, int] = field(default_factory=dict)
    bodies: dict[bytes, Body] = field(default_factory=dict)
    priorities: dict[bytes, int] = field(default_factory=dict)
    failures: Counter[bytes] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    # -- what the contract calls things

    def left(self, failures: int) -> int:
        return self.topic.max_retries - failures + 1

    def failed(self, score: int) -> int:
        return self.topic.max_retries - score + 1 if score <= RETRIED_MAX else 0

    def waits(self, raw: bytes) -> bool:
        return raw in self.store or raw in self.retry

    def fresh(self, raw: bytes) -> int:
        return self.now_ms if self.topic.timed else self.priorities[raw]

    def stored_version(self, raw: bytes) -> int:
        return self.bodies[raw].version if raw in self.bodies else 0

    def holds(self, raw: bytes) -> bool:
        return self.waits(raw) or raw in self.prepare or raw in self.dead

    def tidy(self, *raws: bytes) -> None:
        """Nothing outlives the last queue that holds the id."""
        for raw in raws:
            if not self.holds(raw):
                self.bodies.pop(raw, None)
                self.failures.pop(raw, None)

    # -- sending

    def send(self, raw: bytes, value: int, body: Body | None) -> bool:
        """Whether it merged."""
        self.counts["sent"] += 1
        waited = self.waits(raw)
        if self.stored_version(raw) > (body.version if body else 0):
            self.counts["merged"] += 1
            return True
        if not (waited and self.topic.merge == "first"):
            if body is None:
                self.bodies.pop(raw, None)
            else:
                self.bodies[raw] = body
        if self.topic.kind is TopicKind.RANGE_MERGE:
            if not waited:
                self.store[raw] = self.now_ms + value
        else:
            self.retry.pop(raw, None)
            self.store[raw] = value
        self.counts["merged"] += waited
        return waited

    # -- upkeep and taking

    def upkeep(self) -> None:
        """Timeouts, then due retries."""
        deadline_ms = self.now_ms - self.topic.visibility_timeout_ms
        expired = [raw for raw, receipt in self.prepare.items() if receipt // SHIFT <= deadline_ms]
        for raw in expired:
            failures = self.prepare.pop(raw) % SHIFT + 1
            self.counts["expired"] += 1
            self.fail(raw, failures, 0)
        for raw in [raw for raw, stamp in self.retry.items() if stamp // SHIFT <= self.now_ms]:
            failures = self.retry.pop(raw) % SHIFT
            self.restore(raw, self.left(failures) if failures else self.fresh(raw))

    def ready(self) -> dict[bytes, int]:
        """What may be handed out now."""
        due = {raw: s for raw, s in self.store.items() if not self.topic.timed or s <= self.now_ms}
        return {raw: score for raw, score in due.items() if raw not in self.prepare}

    def taken(self, raw: bytes) -> int:
        """Hands one out; returns its receipt."""
        score = self.store.pop(raw)
        if score > RETRIED_MAX and not self.topic.timed:
            self.priorities[raw] = score
        self.prepare[raw] = self.now_ms * SHIFT + self.failed(score)
        self.counts["taken"] += 1
        return self.prepare[raw]

    # -- settling

    def valid(self, raw: bytes, receipt: int) -> bool:
        return self.prepare.get(raw) == receipt

    def ack(self, raw: bytes, receipt: int) -> str:
        if not self.valid(raw, receipt):
            return "stale"
        del self.prepare[raw]
        self.counts["acked"] += 1
        self.tidy(raw)
        return "done"

    def nack(self, raw: bytes, receipt: int, delay_ms: int | None, *, reject: bool = False) -> str:
        if not self.valid(raw, receipt):
            return "stale"
        failures = self.prepare.pop(raw) % SHIFT + 1
        if delay_ms is None:
            delay_ms = min(self.topic.backoff_max_ms, self.topic.backoff_ms * 2 ** (failures - 1))
        self.fail(raw, failures, delay_ms, reject=reject)
        return "done"

    def fail(self, raw: bytes, failures: int, delay_ms: int, *, reject: bool = False) -> None:
        if raw in self.store:
            self.counts["merged"] += 1
            return
        self.failures[raw] += 1
        if reject or failures > self.topic.max_retries:
            self.counts["died"] += 1
            self.counts["merged"] += raw in self.dead
            self.dead[raw] = self.now_ms
        else:
            self.counts["retried"] += 1
            if delay_ms:
                self.retry[raw] = (self.now_ms + delay_ms) * SHIFT + failures
            else:
                self.store[raw] = self.left(failures)

    def release(self, raw: bytes, receipt: int, delay_ms: int, score: int) -> str:
        if not self.valid(raw, receipt):
            return "stale"
        failures = self.prepare.pop(raw) % SHIFT
        self.counts["released"] += 1
        if delay_ms and raw not in self.store:
            self.retry[raw] = (self.now_ms + delay_ms) * SHIFT + failures
        else:
            self.restore(raw, self.left(failures) if failures else score)
        return "done"

    def extend(self, raw: bytes, receipt: int, for_ms: int | None) -> int:
        """The new receipt, 0 for stale."""
        if not self.valid(raw, receipt):
            return 0
        more_ms = 0 if for_ms is None else for_ms - self.topic.visibility_timeout_ms
        self.prepare[raw] = (self.now_ms + more_ms) * SHIFT + receipt % SHIFT
        self.counts["extended"] += 1
        return self.prepare[raw]

    def restore(self, raw: bytes, score: int) -> None:
        if self.waits(raw):
            self.counts["merged"] += 1
        else:
            self.store[raw] = score

    # -- operators

    def status(self, raw: bytes) -> str:
        return "in_flight" if raw in self.prepare else "not_found"

    def cancel(self, raw: bytes) -> str:
        if not self.waits(raw):
            return self.status(raw)
        self.store.pop(raw, None)
        self.retry.pop(raw, None)
        self.counts["cancelled"] += 1
        self.tidy(raw)
        return "done"

    def run_now(self, raw: bytes) -> str:
        if raw in self.retry:
            failures = self.retry.pop(raw) % SHIFT
            self.store[raw] = self.left(failures) if failures else self.fresh(raw)
        elif raw in self.store:
            if self.topic.timed:
                self.store[raw] = min(self.store[raw], self.now_ms)
        else:
            return self.status(raw)
        self.counts["rescheduled"] += 1
        return "done"

    def reschedule(self, raw: bytes, value: int) -> str:
        if not self.waits(raw):
            return self.status(raw)
        stamp = self.retry.pop(raw, None)
        failures = stamp % SHIFT if stamp is not None else self.failed(self.store.pop(raw))
        if self.topic.timed and failures:
            self.retry[raw] = value * SHIFT + failures
        else:
            self.store[raw] = value
        self.counts["rescheduled"] += 1
        return "done"

    def requeue(self, raw: bytes) -> str:
        if raw not in self.dead:
            return "not_found"
        del self.dead[raw]
        self.counts["requeued"] += 1
        self.restore(raw, self.fresh(raw))
        return "done"

    def drop(self, raw: bytes) -> str:
        if raw not in self.dead:
            return "not_found"
        del self.dead[raw]
        self.counts["dropped"] += 1
        self.tidy(raw)
        return "done"
