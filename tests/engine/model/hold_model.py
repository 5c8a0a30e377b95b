"""What holds add to the model of a slot: by id, for the ids are few."""

from __future__ import annotations

from dataclasses import dataclass, field

from rmq_core.model.holds import HELD_FROM
from rmq_core.model.topic import TopicKind
from tests.engine.model.held import SHIFT, Behind, Body
from tests.engine.model.model import Model


@dataclass
class Held:
    """A hold."""

    raw: bytes
    number: int
    until_ms: int | None


@dataclass
class HoldModel(Model):
    """What is kept back waits in `retry`; where it has not failed, `priorities` has its place in the store."""

    active: list[Held] = field(default_factory=list)

    def is_over(self, hold: Held) -> bool:
        return hold.until_ms is not None and hold.until_ms <= self.now_ms

    def held_by(self, raw: bytes) -> Held | None:
        return next((hold for hold in self.active if hold.raw == raw and not self.is_over(hold)), None)

    def is_kept(self, raw: bytes) -> bool:
        return self.retry.get(raw, 0) >= HELD_FROM

    def keeps_place(self, raw: bytes) -> bool:
        return self.is_kept(raw) and self.retry[raw] % SHIFT == 0

    # -- operators

    def hold(self, raw: bytes, for_ms: int | None) -> None:
        until_ms = None if for_ms is None else self.now_ms + for_ms
        hold = self.held_by(raw)
        if hold is None:
            number = max((each.number for each in self.active), default=0) + 1
            hold = Held(raw, number, until_ms)
            self.active.append(hold)
        hold.until_ms = until_ms
        if raw in self.ready():
            self.set_aside(raw)

    def lift(self, hold: Held) -> int:
        if not self.is_over(hold):
            hold.until_ms = self.now_ms
        return self.lift_over()

    def lift_over(self) -> int:
        moved = 0
        for hold in [each for each in self.active if self.is_over(each)]:
            low = HELD_FROM + hold.number * SHIFT
            for raw in sorted(
                (raw for raw, stamp in self.retry.items() if low <= stamp < low + SHIFT),
                key=lambda raw: (self.retry[raw], raw),
            ):
                failures = self.retry.pop(raw) % SHIFT
                self.store[raw] = self.left(failures) if failures else self.priorities.pop(raw)
                moved += 1
            self.active.remove(hold)
        self.counts["lifted"] += moved
        return moved

    def set_aside(self, raw: bytes) -> None:
        hold = self.held_by(raw)
        assert hold is not None
        score = self.store.pop(raw)
        failures = 0 if isinstance(score, Behind) else self.failed(score)
        self.retry[raw] = HELD_FROM + hold.number * SHIFT + failures
        if not failures:
            self.priorities[raw] = score  # type: ignore[assignment]
        self.counts["held"] += 1

    def cancel(self, raw: bytes) -> str:
        if self.is_kept(raw):
            failures = self.retry.pop(raw) % SHIFT
            if failures:
                self.retry[raw] = self.now_ms * SHIFT + failures
            else:
                self.store[raw] = self.priorities.pop(raw)
        return super().cancel(raw)

    def run_now(self, raw: bytes) -> str:
        return "held" if self.is_kept(raw) else super().run_now(raw)

    def reschedule(self, raw: bytes, value: int) -> str:
        if not self.keeps_place(raw):
            return super().reschedule(raw, value)
        if self.expires_first(raw, value):
            return "expires_first"
        self.priorities[raw] = self.behind(value)  # type: ignore[assignment]
        self.counts["rescheduled"] += 1
        return "done"

    # -- what others do

    def reap(self) -> None:
        super().reap()
        self.lift_over()

    def due_ms(self, raw: bytes, value: int) -> int:
        if self.topic.kind is not TopicKind.RANGE_MERGE or not self.is_kept(raw) or self.is_late(raw):
            return super().due_ms(raw, value)
        place = self.priorities[raw] if self.keeps_place(raw) else self.now_ms
        return max(self.now_ms, place.whole if isinstance(place, Behind) else int(place))

    def send(self, raw: bytes, value: int, body: Body | None, *, once: bool = False) -> bool:
        if not self.keeps_place(raw) or self.is_late(raw) or self.topic.kind is TopicKind.RANGE_MERGE:
            return super().send(raw, value, body, once=once)
        stamp, self.store[raw] = self.retry.pop(raw), self.priorities.pop(raw)
        merged = super().send(raw, value, body, once=once)
        self.retry[raw], self.priorities[raw] = stamp, self.store.pop(raw)  # type: ignore[assignment]
        return merged

    def next_ones(self, most: int) -> tuple[list[bytes], bool]:
        while True:
            found, alone = self.next_before_any_is_late(most)
            late = [raw for raw in found if self.is_late(raw)]
            held = [raw for raw in found if raw not in late and self.held_by(raw)]
            if not late and not held:
                return found, alone
            if alone:
                most = 1
            for raw in late:
                self.suspects.discard(raw)
                self.lapse(raw)
            for raw in held:
                self.set_aside(raw)
