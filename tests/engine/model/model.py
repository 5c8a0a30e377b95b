"""One slot of a topic in plain Python, written from the contract: what every operation should do to it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rmq_core.fingerprints import fingerprint
from rmq_core.topic import Topic, TopicKind

RETRIED_MAX = 16
SHIFT = 1000


@dataclass
class Body:
    """What a pooled message has beside its id."""

    content: bytes
    version: int


TIMEOUT = fingerprint("Timeout", "not settled within 1 ms")


@dataclass
class Trashed:
    """A cancelled or dropped message."""

    removed_ms: int
    queue: str
    score: int
    cause: str | None
    priority: int | None
    failures: int
    body: Body | None


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
    causes: dict[bytes, str] = field(default_factory=dict)
    trash: dict[bytes, Trashed] = field(default_factory=dict)

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
            self.fail(raw, failures, 0, TIMEOUT)
        for raw in [raw for raw, stamp in self.retry.items() if stamp // SHIFT <= self.now_ms]:
            failures = self.retry.pop(raw) % SHIFT
            self.put_back(raw, self.left(failures) if failures else self.fresh(raw))

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

    def nack(
        self, raw: bytes, receipt: int, delay_ms: int | None, error: str, message: str, *, reject: bool = False
    ) -> str:
        if not self.valid(raw, receipt):
            return "stale"
        failures = self.prepare.pop(raw) % SHIFT + 1
        if delay_ms is None:
            delay_ms = min(self.topic.backoff_max_ms, self.topic.backoff_ms * 2 ** (failures - 1))
        self.fail(raw, failures, delay_ms, fingerprint(error, message), reject=reject)
        return "done"

    def fail(self, raw: bytes, failures: int, delay_ms: int, cause: str, *, reject: bool = False) -> None:
        if raw in self.store:
            self.counts["merged"] += 1
            return
        self.failures[raw] += 1
        if reject or failures > self.topic.max_retries:
            self.counts["died"] += 1
            self.counts["merged"] += raw in self.dead
            self.dead[raw] = self.now_ms
            self.causes[raw] = cause
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
            self.put_back(raw, self.left(failures) if failures else score)
        return "done"

    def extend(self, raw: bytes, receipt: int, for_ms: int | None) -> int:
        """The new receipt, 0 for stale."""
        if not self.valid(raw, receipt):
            return 0
        more_ms = 0 if for_ms is None else for_ms - self.topic.visibility_timeout_ms
        self.prepare[raw] = (self.now_ms + more_ms) * SHIFT + receipt % SHIFT
        self.counts["extended"] += 1
        return self.prepare[raw]

    def put_back(self, raw: bytes, score: int) -> None:
        if self.waits(raw):
            self.counts["merged"] += 1
        else:
            self.store[raw] = score

    # -- operators

    def status(self, raw: bytes) -> str:
        return "in_flight" if raw in self.prepare else "not_found"

    def cancel(self, raw: bytes) -> str:
        self.trim()
        if not self.waits(raw):
            return self.status(raw)
        self.discard(raw, "store" if raw in self.store else "retry")
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
        del self.dead[raw], self.causes[raw]
        self.counts["requeued"] += 1
        self.put_back(raw, self.fresh(raw))
        return "done"

    def drop(self, raw: bytes) -> str:
        self.trim()
        if raw not in self.dead:
            return "not_found"
        self.discard(raw, "dead")
        self.counts["dropped"] += 1
        self.tidy(raw)
        return "done"

    def trim(self) -> None:
        """What cannot be restored any more is gone."""
        old = [raw for raw, each in self.trash.items() if each.removed_ms <= self.now_ms - self.topic.undo_ms]
        for raw in old:
            del self.trash[raw]
        self.counts["erased"] += len(old)

    def discard(self, raw: bytes, queue: str) -> None:
        score = getattr(self, queue).pop(raw)
        cause = self.causes.pop(raw) if queue == "dead" else None
        if self.topic.undo_ms:
            priority = self.priorities.get(raw)
            self.trash[raw] = Trashed(
                self.now_ms, queue, score, cause, priority, self.failures[raw], self.bodies.get(raw)
            )

    def restore(self, raw: bytes) -> str:
        self.trim()
        if raw not in self.trash:
            return "not_found"
        old = self.trash.pop(raw)
        self.counts["restored"] += 1
        held = self.holds(raw)
        retried = raw in self.store and self.store[raw] <= RETRIED_MAX
        taken_before = retried or raw in self.retry or raw in self.prepare or raw in self.dead
        if raw in self.dead if old.queue == "dead" else self.waits(raw):
            self.counts["merged"] += 1
            return "done"
        getattr(self, old.queue)[raw] = old.score
        if old.queue == "dead":
            assert old.cause is not None
            self.causes[raw] = old.cause
        elif old.queue == "store" and self.topic.timed and old.score > RETRIED_MAX:
            self.store[raw] = max(old.score, self.now_ms)
        if not held and old.body:
            self.bodies[raw] = old.body
        if not self.failures[raw]:
            self.failures[raw] = old.failures
        was_taken = old.queue != "store" or old.score <= RETRIED_MAX
        if was_taken and not taken_before and old.priority is not None:
            self.priorities[raw] = old.priority
        return "done"
