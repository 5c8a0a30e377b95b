"""The clock of a real server steps back and forth at any moment, and nobody but who pulls is there: nothing is lost,
early, or taken from who has it, and in the end everything comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmq_core import RMQ, Control, Delivery, FixedTimeMessage, Inspector, MessageRef, PriorityMessage, Topic, TopicKind
from rmq_core.ops import hints
from tests.engine.clock import ClockedRedis
from tests.support.profiles import NO_SHRINKING

TIMEOUT_MS, BACKOFF_MS, LONGEST_MS, STEP_SEEN_MS = 5_000, 2_000, 20_000, 2_000
STEPS_MS = [-600_000, -21_000, -7_000, -3_500, -2_500, -600, 1, 700, 2_000, 5_000, 9_000, 600_000]
TIMES: dict[str, Any] = {
    "backoff_ms": BACKOFF_MS,
    "backoff_max_ms": BACKOFF_MS,
    "visibility_timeout_ms": TIMEOUT_MS,
}
WHAT: list[tuple[str, dict[str, Any]]] = [
    ("priority", {}),
    ("priority", {"concurrency": 2}),
    ("priority", {"key_concurrency": 1}),
    ("fixed-time", {}),
    ("range-merge", {"concurrency": 3}),
    ("group", {}),
]
PERMITS_TURN_MS = 250
"""So long a slot that had some permits leaves others time to ask for theirs; see `permit_ask.lua`."""
DEEDS = [*["step", "take"] * 3, "send", "ack", "nack", "release", "extend", "reschedule"]
names = count()


@dataclass
class Known:
    """What is known of a message: it does not come before ``for_ms`` have gone by since the earliest moment of the
    clock since that was said, nor before it is due. ``given``: it waits for that beside the store, until that is over.
    """

    since_ms: int
    for_ms: int = 0
    due_ms: int = 0
    given: bool = False
    done: bool = False

    def step(self, before_ms: int, now_ms: int) -> None:
        if before_ms >= self.since_ms + self.for_ms:
            self.for_ms = 0
        if self.given and before_ms >= self.due_ms:
            self.due_ms = 0
        self.since_ms = min(self.since_ms, now_ms)

    def may_come(self, now_ms: int) -> bool:
        return not self.done and now_ms >= max(self.due_ms, self.since_ms + self.for_ms)


class History:
    """One topic, or group, and what happens to it."""

    def __init__(self, rmq: RMQ, clock: ClockedRedis, what: str, options: dict[str, Any]) -> None:
        self.rmq, self.clock, self.what, self.highest_ms = rmq, clock, what, clock.now_ms
        self.control, self.held, self.known = Control(rmq), list[Delivery](), dict[str, Known]()
        self.seen: dict[str, MessageRef] = {}
        name, group = f"t{next(names)}", what == "group"
        kind = TopicKind.STREAM if group else TopicKind(what)
        self.topic = rmq.define(Topic(name, kind, slots=2, **options, **({} if group else TIMES)))
        self.queue = rmq.define_group(name, "g", **TIMES).name if group else name

    def step(self, by_ms: int) -> None:
        before_ms = self.clock.now_ms
        self.clock.move(by_ms)
        self.highest_ms = max(self.highest_ms, self.clock.now_ms)
        for known in self.known.values():
            known.step(before_ms, self.clock.now_ms)

    def send(self, later_ms: int) -> None:
        text, now_ms = f"m{len(self.known)}", self.clock.now_ms
        self.known[text] = Known(now_ms)
        if self.what == "priority":
            self.rmq.send(self.topic, PriorityMessage(text, 20, slot_basis=text[-1]))
        elif self.what == "fixed-time":
            self.known[text].due_ms = now_ms + later_ms
            self.rmq.send(self.topic, FixedTimeMessage(text, now_ms + later_ms, slot_basis=text[-1]))
        elif self.what == "range-merge":
            self.known[text].due_ms = now_ms + later_ms
            self.rmq.send(self.topic, text, range_ms=max(1, later_ms))
        else:
            self.rmq.send(self.topic, text, slot_basis=text[-1])

    def take(self, most: int) -> list[Delivery]:
        taken, now_ms = self.rmq.take(self.queue, most), self.clock.now_ms
        for each in taken:
            assert self.known[each.text].may_come(now_ms), (each.text, self.known[each.text], now_ms)
            self.known[each.text] = Known(now_ms, TIMEOUT_MS)
            self.seen[each.text] = MessageRef(each.slot, each.id)
        self.held += taken
        return taken

    def settle(self, how: Callable[..., list[Any]], which: int, **options: int) -> None:
        if not self.held:
            return
        each = self.held[which % len(self.held)]
        if how != self.rmq.extend:
            self.held.remove(each)
        known, now_ms = self.known[each.text], self.clock.now_ms
        if how(each, **options) == ["done"]:
            for_ms = {self.rmq.nack: BACKOFF_MS, self.rmq.ack: 0, self.rmq.extend: options.get("for_ms", TIMEOUT_MS)}
            waits_ms = for_ms.get(how, options.get("delay_ms", 0))
            self.known[each.text] = replace(known, since_ms=now_ms, for_ms=waits_ms, done=how == self.rmq.ack)

    def reschedule(self, which: int, later_ms: int) -> None:
        if self.what == "priority" or not self.seen:
            return
        text, ref = list(self.seen.items())[which % len(self.seen)]
        due_ms = self.clock.now_ms + later_ms
        (result,) = self.control.reschedule(self.queue, [ref], due_ms=due_ms)
        if result.status == "done":
            self.known[text] = Known(self.clock.now_ms, 0, due_ms, given=True)

    def finish(self) -> None:
        """All that comes now, and again a little later: also what was in flight in company comes, alone."""
        for _ in range(4):
            while taken := self.take(10):
                for each in taken:
                    self.settle(self.rmq.ack, self.held.index(each))
            self.step(PERMITS_TURN_MS)

    def left(self) -> int:
        (sample,) = Inspector(self.rmq).sample([self.queue])
        return sum(not known.done for known in self.known.values()) - sample.dead


@pytest.mark.parametrize(
    ("what", "options"), WHAT, ids=lambda value: value if isinstance(value, str) else "".join(value)
)
def test_whatever_the_clock_does(
    clocked: RMQ, clock: ClockedRedis, monkeypatch: pytest.MonkeyPatch, what: str, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(hints, "LOOK_EVERY_S", 0.0)

    @settings(max_examples=20, phases=NO_SHRINKING)
    @given(st.data())
    def histories(data: st.DataObject) -> None:
        history = History(clocked, clock, what, options)
        some = st.integers(0, 9)
        for _ in range(2):
            history.send(0)
        for _ in range(data.draw(st.integers(5, 40))):
            match data.draw(st.sampled_from(DEEDS)):
                case "step":
                    history.step(data.draw(st.sampled_from(STEPS_MS)))
                case "send":
                    history.send(data.draw(st.sampled_from([0, 1_000, 30_000])))
                case "take":
                    history.take(data.draw(st.integers(1, 4)))
                case "ack":
                    history.settle(clocked.ack, data.draw(some))
                case "nack":
                    history.settle(clocked.nack, data.draw(some))
                case "release":
                    delay_ms = data.draw(st.sampled_from([0, 500, 4_000]))
                    history.settle(clocked.release, data.draw(some), delay_ms=delay_ms)
                case "extend":
                    for_ms = data.draw(st.sampled_from([1_000, TIMEOUT_MS, LONGEST_MS]))
                    history.settle(clocked.extend, data.draw(some), for_ms=for_ms)
                case _:
                    history.reschedule(data.draw(some), data.draw(st.sampled_from([333, 40_007])))
        history.finish()
        history.step(2 * LONGEST_MS + STEP_SEEN_MS)
        history.finish()
        if what == "priority":  # elsewhere what has a time on the clock keeps it
            assert history.left() == 0
        history.step(max(0, history.highest_ms - clock.now_ms) + 60_000)
        history.finish()
        assert history.left() == 0

    histories()
