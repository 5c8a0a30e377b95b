"""What senders, workers and the clock do to a slot."""

from __future__ import annotations

from rmq_core.model.fingerprints import fingerprint
from rmq_core.model.topic import TopicKind
from tests.engine.model.held import RETRIED_MAX, SHIFT, TIMEOUT, Behind, Body, Dead, Held


class Handled(Held):
    """Operations return what a caller is told."""

    # -- sending

    def met_ms(self, raw: bytes, period_ms: int) -> int | None:
        """When the id was accepted, where that is within the period: then a send changes nothing."""
        at_ms = self.accepted_ms.get(raw)
        if not period_ms or at_ms is None or at_ms + period_ms <= self.now_ms:
            return None
        self.counts["sent"] += 1
        self.counts["duplicate"] += 1
        return at_ms

    def newer_than(self, raw: bytes, body: Body | None) -> int | None:
        """The version of the id that was handed out, where that is newer than this one: then a send changes nothing."""
        known = self.handed_out[raw] if self.topic.versions_for_ms else 0
        if known <= (body.version if body else 0):
            return None
        self.counts["sent"] += 1
        self.counts["outdated"] += 1
        return known

    def send(self, raw: bytes, value: int, body: Body | None, *, once: bool = False) -> bool:
        """Whether it merged. ``once``: within a period."""
        self.counts["sent"] += 1
        if self.is_late(raw):
            self.lapse(raw)
            if once or self.topic.versions_for_ms:  # the others see the first keys of a slot alone
                self.suspects.discard(raw)
        waited = self.waits(raw)
        known = self.waiting_bodies.get(raw) if waited else self.flight_bodies.get(raw)
        if known and known.version > (body.version if body else 0):
            self.counts["merged"] += 1
            return True
        if not (waited and self.topic.merge == "first"):
            self.waiting_bodies[raw] = body
        if self.topic.kind is TopicKind.RANGE_MERGE:
            if not waited:
                self.store[raw] = self.behind(self.now_ms + value)
        else:
            self.retry.pop(raw, None)
            stored = self.store.get(raw)
            whole = stored.whole if isinstance(stored, Behind) else stored and self.whole(stored)
            if whole != value:
                self.store[raw] = self.behind(value)
        self.counts["merged"] += waited
        return waited

    # -- expiring

    def due_ms(self, raw: bytes, value: int) -> int:
        """When a message that is sent now is due: where it merges, perhaps when the one that waits is."""
        if self.topic.kind is not TopicKind.RANGE_MERGE:
            return value if self.topic.timed else self.now_ms
        if not self.waits(raw) or self.is_late(raw):
            return self.now_ms + value
        if raw in self.retry:
            return max(self.now_ms, self.retry[raw] // SHIFT)
        stored = self.store[raw]
        return max(self.now_ms, stored.whole if isinstance(stored, Behind) else int(stored))

    def is_late(self, raw: bytes) -> bool:
        """Whether the copy that waits may not be delivered any more."""
        return self.waits(raw) and self.ends_by(self.waiting_bodies.get(raw), self.now_ms)

    def ends_by(self, body: Body | None, at_ms: int) -> bool:
        """Whether a message with that body may not be delivered any more then."""
        return body is not None and body.ends_ms is not None and body.ends_ms <= at_ms

    def expires_first(self, raw: bytes, value: int) -> bool:
        """Whether the copy that waits would be over before it is due, were it rescheduled."""
        due_ms = max(value, self.now_ms) if self.topic.timed else self.now_ms
        return self.waits(raw) and self.ends_by(self.waiting_bodies.get(raw), due_ms)

    def is_outdated(self, raw: bytes) -> bool:
        """Whether a newer version than that of the copy that waits was handed out."""
        body = self.waiting_bodies.get(raw)
        return self.topic.versions_for_ms > 0 and self.handed_out[raw] > (body.version if body else 0)

    def lapse(self, raw: bytes, as_what: str = "lapsed") -> None:
        """The copy that waits is gone."""
        self.store.pop(raw, None)
        self.retry.pop(raw, None)
        del self.waiting_bodies[raw]
        self.counts[as_what] += 1
        self.tidy(raw)

    # -- reaping and taking

    def reap(self) -> None:
        """Timeouts, then due retries."""
        deadline_ms = self.now_ms - self.topic.visibility_timeout_ms
        for raw in self.by_score(raw for raw, receipt in self.prepare.items() if receipt // SHIFT <= deadline_ms):
            self.time_out(raw, TIMEOUT)
        for raw in sorted(
            (raw for raw, stamp in self.retry.items() if stamp // SHIFT <= self.now_ms),
            key=lambda raw: (self.retry[raw], raw),
        ):
            failures = self.retry.pop(raw) % SHIFT
            if failures:
                self.store[raw] = self.left(failures)
            elif self.topic.timed:
                self.store[raw] = self.fresh(raw, None)
            else:
                self.store[raw] = self.priorities[raw]

    def by_score(self, raws: object) -> list[bytes]:
        return sorted(raws, key=lambda raw: (self.prepare[raw], raw))  # type: ignore[call-overload,no-any-return]

    def time_out(self, raw: bytes, cause: str) -> None:
        """What was taken with others goes back uncounted, and is suspected; what was taken alone has failed."""
        receipt, body, origin = self.leave_flight(raw)
        self.counts["expired"] += 1
        if origin is None:
            self.fail(raw, receipt % SHIFT + 1, 0, cause, body)
            return
        self.counts["released"] += 1
        failures = receipt % SHIFT
        if self.put_back(raw, self.left(failures) if failures else origin, body):
            self.suspects.add(raw)

    def leave_flight(self, raw: bytes) -> tuple[int, Body | None, float | None]:
        return self.prepare.pop(raw), self.flight_bodies.pop(raw, None), self.origins.pop(raw, None)

    def owner_lost(self, cause: str) -> int:
        """Another owner puts back what is in flight; how many that were."""
        held = self.by_score(self.prepare)
        for raw in held:
            self.time_out(raw, cause)
        return len(held)

    def ready(self) -> list[bytes]:
        """What may be handed out now, in the order of the store."""

        def key(raw: bytes) -> tuple[float, float, bytes]:
            score = self.store[raw]
            return (score.whole, score.number, raw) if isinstance(score, Behind) else (score, 0, raw)

        now = self.now_ms + 1
        return [
            raw
            for raw in sorted(self.store, key=key)
            if raw not in self.prepare and (not self.topic.timed or key(raw)[0] < now)
        ]

    def next_ones(self, most: int) -> tuple[list[bytes], bool]:
        """What a pull consumer is handed, and whether alone; late ones that it would be handed are gone."""
        while True:
            found, alone = self.next_before_any_is_late(most)
            late = [raw for raw in found if self.is_late(raw)]
            ended = dict.fromkeys((raw for raw in found if self.is_outdated(raw)), "outdated")
            ended |= dict.fromkeys(late, "lapsed")
            if not ended:
                return found, alone
            if alone:  # who came for one that must be taken alone goes on alone
                most = 1
            for raw, as_what in ended.items():
                self.suspects.discard(raw)
                self.lapse(raw, as_what)

    def next_before_any_is_late(self, most: int) -> tuple[list[bytes], bool]:
        """Of retried ones there is at least one."""
        ready = self.ready()
        if not self.topic.timed:
            retried = [raw for raw in ready if self.is_retried(raw)]
            fresh = [raw for raw in reversed(ready) if raw not in retried]
            n = min(len(retried), max(1, most // 10, most - len(fresh)))
            ready = fresh[: most - n] + retried[:n]
        ready = ready[:most]
        if most > 1:
            several = []
            for raw in ready:
                if raw in self.suspects:
                    break
                several.append(raw)
            return (several, False) if several or not ready else self.next_before_any_is_late(1)
        return ready, True

    def is_retried(self, raw: bytes) -> bool:
        score = self.store[raw]
        return not isinstance(score, Behind) and score <= RETRIED_MAX

    def taken(self, raw: bytes, real: float, *, alone: bool) -> int:
        """Hands one out; returns its receipt."""
        if isinstance(self.store[raw], Behind):
            self.place(raw, real)
        score = self.store.pop(raw)
        assert score == real
        self.flight_bodies[raw] = body = self.waiting_bodies.pop(raw)
        self.handed_out[raw] = max(self.handed_out[raw], body.version if body else 0)
        if not alone:
            self.origins[raw] = real
        elif real > RETRIED_MAX and not self.topic.timed:
            self.priorities[raw] = real
        self.prepare[raw] = self.now_ms * SHIFT + self.failed(real)
        self.counts["taken"] += 1
        return self.prepare[raw]

    # -- settling

    def valid(self, raw: bytes, receipt: int) -> bool:
        return self.prepare.get(raw) == receipt

    def ack(self, raw: bytes, receipt: int) -> str:
        if not self.valid(raw, receipt):
            return "stale"
        self.leave_flight(raw)
        self.suspects.discard(raw)
        self.counts["acked"] += 1
        self.tidy(raw)
        return "done"

    def nack(
        self, raw: bytes, receipt: int, delay_ms: int | None, error: str, message: str, *, reject: bool = False
    ) -> str:
        if not self.valid(raw, receipt):
            return "stale"
        _, body, origin = self.leave_flight(raw)
        self.suspects.discard(raw)
        failures = receipt % SHIFT + 1
        if delay_ms is None:
            delay_ms = min(self.topic.backoff_max_ms, self.topic.backoff_ms * 2 ** (failures - 1))
        self.fail(raw, failures, delay_ms, fingerprint(error, message), body, reject=reject, place=origin)
        return "done"

    def fail(
        self,
        raw: bytes,
        failures: int,
        delay_ms: int,
        cause: str,
        body: Body | None,
        *,
        reject: bool = False,
        place: float | None = None,
    ) -> None:
        if self.waits(raw):
            self.counts["merged"] += 1
            return
        if not self.topic.timed and place is not None and place > RETRIED_MAX:
            self.priorities[raw] = place
        self.failures[raw] += 1
        if reject or failures > self.topic.max_retries:
            self.die(raw, cause, body)
            return
        self.counts["retried"] += 1
        self.waiting_bodies[raw] = body
        if delay_ms:
            self.retry[raw] = (self.now_ms + delay_ms) * SHIFT + failures
        else:
            self.store[raw] = self.left(failures)

    def die(self, raw: bytes, cause: str, body: Body | None) -> None:
        """One that is dead already makes room: it goes to the trash."""
        self.counts["died"] += 1
        if raw in self.dead:
            self.counts["merged"] += 1
            self.trash_dead(raw)
        self.dead[raw] = Dead(self.now_ms, cause, self.priorities.pop(raw, None), self.failures.pop(raw), body)
        self.suspects.discard(raw)

    def release(self, raw: bytes, receipt: int, delay_ms: int, score: float) -> str:
        if not self.valid(raw, receipt):
            return "stale"
        _, body, _ = self.leave_flight(raw)
        failures = receipt % SHIFT
        self.counts["released"] += 1
        if not delay_ms:
            self.put_back(raw, self.left(failures) if failures else score, body)
        elif self.waits(raw):
            self.counts["merged"] += 1
        else:
            self.retry[raw] = (self.now_ms + delay_ms) * SHIFT + failures
            self.waiting_bodies[raw] = body
            if not self.topic.timed and not failures:
                self.priorities[raw] = score
        return "done"

    def extend(self, raw: bytes, receipt: int, for_ms: int | None) -> int:
        """The new receipt, 0 for stale."""
        if not self.valid(raw, receipt):
            return 0
        more_ms = 0 if for_ms is None else for_ms - self.topic.visibility_timeout_ms
        self.prepare[raw] = (self.now_ms + more_ms) * SHIFT + receipt % SHIFT
        self.counts["extended"] += 1
        return self.prepare[raw]

    def put_back(self, raw: bytes, score: float | Behind, body: Body | None) -> bool:
        if self.waits(raw):
            self.counts["merged"] += 1
            return False
        self.store[raw] = score
        self.waiting_bodies[raw] = body
        return True
