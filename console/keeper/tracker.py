"""Turns successive samples of one topic into the numbers people look at: rates, percentiles, sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from console.history.points import POINT
from rmq_core.model.samples import SlotSample, TopicSample
from rmq_core.model.stats import Histogram

STRIP_CELLS = 64
_AS_POINT = attrgetter(*POINT)


@dataclass(frozen=True)
class Numbers:
    """One topic at one instant. `*_s`: per second since the previous sample, None when there is none yet."""

    at_ms: int
    in_s: float | None
    out_s: float | None
    failed_s: float | None
    merged_s: float | None
    backlog: int
    ready: int
    delayed: int
    retrying: int
    in_flight: int
    dead: int
    lag_ms: int
    oldest_ms: int | None
    p50: int | None
    p95: int | None
    p99: int | None
    ledger_gap: int
    lag: int | None = None
    """Of a consumer group: entries ahead of it; None: not known. They count as ready, and in the backlog."""
    missed: int = 0
    """Of a group: entries that went before it had read them."""
    length: int = 0
    """Of a stream: entries kept. None of them waits for anybody."""
    held: int = 0
    """Kept back by holds; part of the backlog."""
    order_keys: int = 0
    """Keys of which versions wait for one before them."""
    order_ms: int = 0
    """How long the order of one of these has not moved."""
    keys_waiting: int = 0
    """Keys of which some wait, for as many are in flight as may be."""

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))

    def point(self) -> list[float | int | None]:
        """The same as a compact row of history, in the order of `POINT`."""
        return list(_AS_POINT(self))

    def later(self, at_ms: int, **of_the_clock: Any) -> Numbers:
        """The same at another moment; a tenth of what `replace` costs, and of most topics this is asked each second."""
        numbers = object.__new__(Numbers)
        numbers.__dict__.update(self.__dict__, at_ms=at_ms, **of_the_clock)
        return numbers


class TopicTracker:
    """Remembers a topic's previous sample; slots in which nothing happened cost a comparison each."""

    def __init__(self) -> None:
        self._sample: TopicSample | None = None
        self._before: TopicSample | None = None
        self._numbers: Numbers | None = None
        self.version = 0
        """Another one as soon as the numbers are others than at the last look, the time left aside."""
        self._strip: list[int] = []
        self._strip_of: Sequence[SlotSample] | None = None
        self._quiet = False
        self.lateness = Histogram()
        """What was delivered between the last two samples."""

    def update(self, sample: TopicSample) -> Numbers:
        """Take the next sample in."""
        self._before, self._sample = self._sample, sample
        changed = self._changed_slots()
        if (still := self._still(changed)) is not None:
            self._numbers = still
            return still
        self.version += 1
        seconds = 0.0 if self._before is None else (sample.at_ms - self._before.at_ms) / 1000
        rates: list[float | None] = [None, None, None, None]
        self.lateness = Histogram()
        if seconds > 0 and changed is not None:
            rates = _rates(changed, seconds)
            self.lateness = Histogram.sum(new.lateness.minus(old.lateness) for old, new in changed)
        self._numbers = Numbers(
            at_ms=sample.at_ms,
            in_s=rates[0],
            out_s=rates[1],
            failed_s=rates[2],
            merged_s=rates[3],
            **numbers_of(sample),
            oldest_ms=sample.oldest_prepare_ms,
            p50=_whole(self.lateness.percentile(50)),
            p95=_whole(self.lateness.percentile(95)),
            p99=_whole(self.lateness.percentile(99)),
        )
        self._quiet = changed == [] and seconds > 0
        return self._numbers

    def _still(self, changed: list[tuple[SlotSample, SlotSample]] | None) -> Numbers | None:
        """The numbers where nothing has happened since two looks, so that only the clock can have changed them."""
        now, before, numbers = self._sample, self._before, self._numbers
        if changed != [] or not self._quiet or now is None or before is None or numbers is None:
            return None
        if (now.topic is not before.topic and now.topic != before.topic) or now.at_ms <= before.at_ms:
            return None
        lag_ms, oldest_ms = now.lag_ms, now.oldest_prepare_ms
        order_ms = now.order_waits_ms if numbers.order_keys else 0
        if (lag_ms, oldest_ms, order_ms) == (numbers.lag_ms, numbers.oldest_ms, numbers.order_ms):
            return numbers.later(now.at_ms)
        self.version += 1
        return numbers.later(now.at_ms, lag_ms=lag_ms, oldest_ms=oldest_ms, order_ms=order_ms)

    def _changed_slots(self) -> list[tuple[SlotSample, SlotSample]] | None:
        """Pairs (before, now) of the slots that changed; None when they cannot be compared."""
        now, before = self._sample, self._before
        if now is None or before is None or len(now.slots) != len(before.slots):
            return None
        if now.slots is before.slots:
            return []
        pairs = [(old, new) for old, new in zip(before.slots, now.slots, strict=True) if new is not old]
        if any(new.counters.sent < old.counters.sent for old, new in pairs):
            return None  # deleted and made again meanwhile
        return pairs

    def strip(self) -> list[int]:
        """Backlog over the slots, at most `STRIP_CELLS` values: the largest of neighbouring slots."""
        if self._sample is None:
            return []
        if self._strip_of is not self._sample.slots:
            values = _held(self._sample)
            size = max(1, len(values) // STRIP_CELLS)
            self._strip = values if size == 1 else [max(values[at : at + size]) for at in range(0, len(values), size)]
            self._strip_of = self._sample.slots
        return self._strip

    def slots(self) -> dict[str, list[int | float]]:
        """Every slot's numbers, by metric, for the heat map."""
        sample = self._sample
        if sample is None:
            return {}
        at_ms = sample.at_ms
        return {
            "backlog": list(_held(sample)),
            "lag_ms": [slot.lag_ms(at_ms) for slot in sample.slots],
            "oldest_ms": [
                0 if slot.oldest_taken_ms is None else max(0, at_ms - slot.oldest_taken_ms) for slot in sample.slots
            ],
            "in_flight": [slot.prepare for slot in sample.slots],
            "dead": [slot.dead for slot in sample.slots],
            "out_s": self._slot_rates("sent" if sample.topic.is_stream else "acked"),
        }

    def gaps(self) -> dict[int, int]:
        """The slots whose ledgers have not balanced twice, with what is missing there now: of most topics none."""
        now, before = self._sample, self._before
        if now is None or before is None or len(now.slots) != len(before.slots) or not now.ledger_gap:
            return {}
        pairs = zip(before.slots, now.slots, strict=True)
        return {new.slot: new.ledger_gap for old, new in pairs if old.ledger_gap and new.ledger_gap}

    def fenced(self) -> int:
        """How many slots only workers that own them may take from."""
        return 0 if self._sample is None else sum(slot.epoch is not None for slot in self._sample.slots)

    def _slot_rates(self, counter: str) -> list[int | float]:
        now, before = self._sample, self._before
        if now is None or before is None or len(now.slots) != len(before.slots) or now.at_ms <= before.at_ms:
            return []
        seconds = (now.at_ms - before.at_ms) / 1000
        return [
            0 if new is old else round((getattr(new.counters, counter) - getattr(old.counters, counter)) / seconds, 1)
            for old, new in zip(before.slots, now.slots, strict=True)
        ]


def numbers_of(sample: TopicSample) -> dict[str, Any]:
    """What a topic or a group holds. What is ahead of a group waits for it, like what is ready in other queues."""
    numbers: dict[str, Any] = dict(sample.numbers())
    if sample.topic.is_stream:
        return numbers | {"length": sample.length}
    if sample.topic.is_group:
        ahead = sum(slot.lag or 0 for slot in sample.slots)
        numbers |= {"backlog": sample.backlog + ahead, "ready": sample.ready + ahead}
        return numbers | {"lag": sample.lag, "missed": sample.missed}
    if sample.in_order:
        numbers |= {"order_keys": sample.in_order, "order_ms": sample.order_waits_ms}
    if sample.keys_waiting:
        numbers["keys_waiting"] = sample.keys_waiting
    return numbers


def _held(sample: TopicSample) -> list[int]:
    """Of every slot what waits there; of a stream the entries kept, of which none waits."""
    if sample.topic.is_stream:
        return [slot.length for slot in sample.slots]
    return [slot.store + slot.retry + (slot.lag or 0) for slot in sample.slots]


def _rates(changed: list[tuple[SlotSample, SlotSample]], seconds: float) -> list[float | None]:
    sent = acked = failed = merged = 0
    for old, new in changed:
        before, now = old.counters, new.counters
        sent += now.sent - before.sent
        acked += now.acked - before.acked
        failed += now.retried + now.died - before.retried - before.died
        merged += now.merged - before.merged
    return [round(count / seconds, 1) for count in (sent, acked, failed, merged)]


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
