"""One slot of a topic in plain Python, written from the contract: what every operation should do to it."""

from __future__ import annotations

import math

from tests.engine.model.handled import Handled
from tests.engine.model.held import RETRIED_MAX, SHIFT, Behind, Dead, Trashed


class Model(Handled):
    """With what operators do. Operations return what a caller is told."""

    def status(self, raw: bytes) -> str:
        return "in_flight" if raw in self.prepare else "not_found"

    def cancel(self, raw: bytes) -> str:
        self.trim()
        if not self.waits(raw):
            return self.status(raw)
        queue = "store" if raw in self.store else "retry"
        score = getattr(self, queue).pop(raw)
        body = self.waiting_bodies.pop(raw)
        if self.topic.undo_ms:
            priority = self.priorities.get(raw)
            self.trash[raw] = Trashed(self.now_ms, queue, score, None, priority, self.failures[raw], body)
        self.suspects.discard(raw)
        self.counts["cancelled"] += 1
        self.tidy(raw)
        return "done"

    def run_now(self, raw: bytes) -> str:
        if raw in self.retry:
            failures = self.retry.pop(raw) % SHIFT
            self.store[raw] = self.left(failures) if failures else self.fresh(raw, self.priorities.get(raw))
        elif raw in self.store:
            if self.topic.timed and self.whole(self.store[raw]) > self.now_ms:  # type: ignore[arg-type]
                self.store[raw] = self.fresh(raw, None)
        else:
            return self.status(raw)
        self.counts["rescheduled"] += 1
        return "done"

    def reschedule(self, raw: bytes, value: int) -> str:
        if not self.waits(raw):
            return self.status(raw)
        if self.expires_first(raw, value):
            return "expires_first"
        stamp = self.retry.pop(raw, None)
        failures = stamp % SHIFT if stamp is not None else self.failed(self.store[raw])  # type: ignore[arg-type]
        if self.topic.timed and failures:
            self.store.pop(raw, None)
            self.retry[raw] = value * SHIFT + failures
        else:
            self.store[raw] = self.behind(value)
        self.counts["rescheduled"] += 1
        return "done"

    def requeue(self, raw: bytes) -> str:
        if raw not in self.dead:
            return "not_found"
        if self.ends_by(self.dead[raw].body, self.now_ms):
            return "expires_first"
        self.counts["requeued"] += 1
        if self.waits(raw):
            self.counts["merged"] += 1
            self.trash_dead(raw)
            return "done"
        old = self.dead.pop(raw)
        self.store[raw] = self.fresh(raw, old.priority)
        self.come_to_wait(raw, old)
        return "done"

    def come_to_wait(self, raw: bytes, old: Dead | Trashed) -> None:
        self.waiting_bodies[raw] = old.body
        if not self.failures[raw]:
            self.failures[raw] = old.failures
        if old.priority is not None:
            self.priorities[raw] = old.priority

    def drop(self, raw: bytes) -> str:
        self.trim()
        if raw not in self.dead:
            return "not_found"
        if self.topic.undo_ms:
            self.trash_dead(raw)
        else:
            del self.dead[raw]
        self.counts["dropped"] += 1
        return "done"

    def trash_dead(self, raw: bytes) -> None:
        old = self.dead.pop(raw)
        self.trash[raw] = Trashed(self.now_ms, "dead", old.died_ms, old.cause, old.priority, old.failures, old.body)

    def trim(self) -> None:
        """What cannot be restored any more is gone."""
        old = [raw for raw, each in self.trash.items() if each.removed_ms <= self.now_ms - self.topic.undo_ms]
        for raw in old:
            del self.trash[raw]
        self.counts["erased"] += len(old)

    def restore(self, raw: bytes) -> str:
        old = self.trash.get(raw)
        restorable = old is not None and old.removed_ms > self.now_ms - self.topic.undo_ms
        result = self.bring_back(raw, old) if old is not None and restorable else "not_found"
        self.trim()
        return result

    def bring_back(self, raw: bytes, old: Trashed) -> str:
        if old.queue == "dead":
            if raw in self.dead:
                return "occupied"
            self.dead[raw] = Dead(int(old.score), old.cause or "0" * 16, old.priority, old.failures, old.body)
        elif self.ends_by(old.body, self.now_ms):
            return "expires_first"
        elif self.waits(raw):
            self.counts["merged"] += 1
        else:
            score: float | Behind = old.score
            if old.queue == "store" and self.topic.timed and old.score > RETRIED_MAX:
                score = self.behind(max(math.floor(old.score), self.now_ms))
            getattr(self, old.queue)[raw] = score
            self.come_to_wait(raw, old)
        del self.trash[raw]
        self.counts["restored"] += 1
        return "done"

    def tidy(self, raw: bytes) -> None:
        """Nothing outlives the last copy that it belongs to."""
        if not self.waits(raw) and raw not in self.prepare:
            self.failures.pop(raw, None)
            self.priorities.pop(raw, None)
