"""One slot of a consumer group in plain Python: the queue of `model.Model` beside a stream, from which it reads on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.engine.model.held import RETRIED_MAX, SHIFT, Behind, Body, Dead, Trashed
from tests.engine.model.model import Model

ENTRY_PLACE = 32
SEQS = 4096
SUSPECTS_AHEAD = 100


@dataclass(frozen=True)
class Copy(Body):
    """What a copy holds; ``own``: of itself, and not in the stream alone."""

    own: bool = False


def parts(raw: bytes) -> tuple[int, int]:
    """Milliseconds and number of an id."""
    ms, seq = raw.split(b"-")
    return int(ms), int(seq)


@dataclass
class GroupModel(Model):
    """``stream``: what is in it, in its order; ``cursor``: where the group stands; ``last``: the last id there was."""

    stream: dict[bytes, bytes] = field(default_factory=dict)
    cursor: bytes = b"0-0"
    last: bytes = b"0-0"
    furthest: bytes = b"0-0"
    missed: int = 0
    holders: dict[bytes, str] = field(default_factory=dict)
    reading: dict[bytes, float] = field(default_factory=dict)

    def fresh(self, raw: bytes, priority: float | None) -> float | Behind:
        ms, seq = parts(raw)
        return ms + ENTRY_PLACE + min(seq, SEQS - 1) / SEQS

    def ahead(self) -> list[bytes]:
        """What it has not read."""
        return [raw for raw in self.stream if parts(raw) > parts(self.cursor)]

    def ready(self) -> list[bytes]:
        return sorted((raw for raw in self.store if raw not in self.prepare), key=lambda raw: (self.store[raw], raw))  # type: ignore[return-value,arg-type]

    def next_ones(self, most: int) -> tuple[list[bytes], bool]:
        found, suspects_next = self.look(most, alone=most == 1)
        if not found and suspects_next:  # the consumer asks once more, alone
            return self.look(1, alone=True)[0], True
        return found, most == 1

    def look(self, most: int, *, alone: bool) -> tuple[list[bytes], bool]:
        """What came back, then what is new; whether one that must be taken alone comes next."""
        found, suspects_next = [], False
        for at, raw in enumerate(self.ready()[: SUSPECTS_AHEAD if alone else most]):
            if raw in self.suspects and not (alone and at == 0):
                suspects_next = True
                break
            found.append(raw)
        found = [raw for raw in found[:most] if self.still_has_content(raw)]
        if len(found) < most and not suspects_next:
            found += self.read_on(most - len(found))
        return found, suspects_next

    def still_has_content(self, raw: bytes) -> bool:
        """What has none any more ends here."""
        if self.has_content(raw, self.waiting_bodies[raw]):
            return True
        del self.store[raw], self.waiting_bodies[raw]
        self.suspects.discard(raw)
        self.counts["cancelled"] += 1
        self.tidy(raw)
        return False

    def read_on(self, most: int) -> list[bytes]:
        """The next of the stream; what is under way already is not taken twice."""
        read = self.ahead()[:most]
        if read:
            self.counts["moved"] += self.cursor != self.furthest
            self.cursor = read[-1]
            self.furthest = max(self.furthest, self.cursor, key=parts)
        new = [raw for raw in read if raw not in self.prepare and not self.waits(raw)]
        self.reading = {raw: parts(raw)[0] + ENTRY_PLACE for raw in new}
        self.counts["sent"] += len(new)
        return new

    def taken(self, raw: bytes, real: float, *, alone: bool) -> int:
        if raw in self.reading:
            assert real == self.reading.pop(raw)
            self.flight_bodies[raw] = Copy(self.stream[raw], 0)
        else:
            assert real == self.store.pop(raw)
            self.flight_bodies[raw] = self.waiting_bodies.pop(raw)
        if not alone:
            self.origins[raw] = self.fresh(raw, None)  # type: ignore[assignment]
        self.prepare[raw] = self.now_ms * SHIFT + self.failed(real)
        self.counts["taken"] += 1
        return self.prepare[raw]

    def release(self, raw: bytes, receipt: int, delay_ms: int, score: float) -> str:
        return super().release(raw, receipt, delay_ms, self.fresh(raw, None))  # type: ignore[arg-type]

    def run_now(self, raw: bytes) -> str:
        if raw in self.store:
            self.counts["rescheduled"] += 1
            return "done"
        return super().run_now(raw)

    def reschedule(self, raw: bytes, value: int) -> str:
        if not self.waits(raw):
            return self.status(raw)
        stamp = self.retry.pop(raw, None)
        failures = stamp % SHIFT if stamp is not None else self.failed(self.store.pop(raw))  # type: ignore[arg-type]
        self.retry[raw] = value * SHIFT + failures
        self.counts["rescheduled"] += 1
        return "done"

    # -- what leaves the queue takes its content along

    def captured(self, raw: bytes, body: Body | None) -> Copy:
        assert isinstance(body, Copy)
        return replace(body, own=body.own or raw in self.stream)

    def die(self, raw: bytes, cause: str, body: Body | None) -> None:
        super().die(raw, cause, self.captured(raw, body))

    def cancel(self, raw: bytes) -> str:
        if self.waits(raw):
            self.waiting_bodies[raw] = self.captured(raw, self.waiting_bodies[raw])
        return super().cancel(raw)

    def requeue(self, raw: bytes) -> str:
        return "gone" if raw in self.dead and self.cannot_wait(raw, self.dead[raw].body) else super().requeue(raw)

    def bring_back(self, raw: bytes, old: Trashed) -> str:
        return "gone" if old.queue != "dead" and self.cannot_wait(raw, old.body) else super().bring_back(raw, old)

    def cannot_wait(self, raw: bytes, body: Body | None) -> bool:
        """Nothing would ever be handed out of it."""
        return not self.waits(raw) and not self.has_content(raw, body)

    def has_content(self, raw: bytes, body: Body | None) -> bool:
        return raw in self.stream or (isinstance(body, Copy) and body.own)

    def come_to_wait(self, raw: bytes, old: Dead | Trashed) -> None:
        super().come_to_wait(raw, old)
        score = self.store.get(raw)
        if isinstance(score, Behind) or (score is not None and score > RETRIED_MAX):
            self.store[raw] = self.fresh(raw, None)

    # -- what only groups have

    def claim(self, member: str) -> int:
        """Puts back what a member has; how many."""
        theirs = [raw for raw in self.by_score(self.prepare) if self.holders.get(raw, "") == member]
        for raw in theirs:
            receipt, body, _ = self.leave_flight(raw)
            self.counts["released"] += 1
            failures = receipt % SHIFT
            if self.put_back(raw, self.left(failures) if failures else self.fresh(raw, None), body):
                self.suspects.add(raw)
        return len(theirs)

    def delete(self, raw: bytes) -> bool:
        """Of the stream; whether it was there."""
        if raw in self.ahead():
            self.missed += 1
        return self.stream.pop(raw, None) is not None

    def move(self, where: str) -> None:
        """Another position."""
        self.cursor = {"start": b"0-0", "end": self.last}.get(where, where.encode())
        self.furthest = max(self.furthest, self.cursor, key=parts)
        self.counts["moved"] += 1
