"""The stateful machine led by hand: it brings the copies of one id to where they are to lie, and back again."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from itertools import chain, product
from typing import Any, NamedTuple

from rmq_core.model.topic import TopicKind
from tests.engine.clock import ClockedRedis
from tests.engine.model.deeds import Copies as Places
from tests.engine.model.test_model import Machine

DELAY_MS = 2_000
ID = "a"
WAITING = ("", "store", "retry")
FLIGHT = ("", "alone", "together")
DEAD = ("", "dead")
TRASH = ("", "store", "retry", "dead")
PUT_BACK = """
for _, name in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', name) end
for at = 2, #ARGV, 2 do redis.call('RESTORE', ARGV[at], 0, ARGV[at + 1]) end
"""
KNOWN = ("model", "read_until", "reported", "contents")
"""What a walker knows beside its deliveries."""


class Copies(NamedTuple):
    """Where copies of the id lie; '' none."""

    waiting: str
    flight: str
    dead: str
    trash: str

    @property
    def reachable(self) -> bool:
        """A copy waits for its retry beside one in flight only when the trash has given it back."""
        if self.waiting == "retry" and self.flight:
            return self.trash == "" or (self.trash == "dead" and not self.dead)
        return True


ALL = [copies for copies in map(Copies._make, product(WAITING, FLIGHT, DEAD, TRASH)) if copies.reachable]


class Walker(Machine):
    """The stateful machine, led by hand."""

    pattern = "pooled"
    told: str | None = None

    def put(self, *, inline: bool = False) -> None:
        self.send(ID, 1, None if inline and self.pattern == "mixed" else 2)

    def grab(self, most: int = 1) -> None:
        self.time_passes(100)
        self.places_are_known()
        self.take(most)

    def places_are_known(self) -> None:
        """Only Redis knows where a message that was just sent stands among equals."""
        if self.model.pending():
            self.redis_is_as_the_model_says()

    def settle_last(self, how: str, delay_ms: int | None = None) -> None:
        (delivery,) = [d for d in self.deliveries if d.raw_id == ID.encode() and self.model.valid(d.raw_id, d.receipt)]
        raw, receipt = delivery.raw_id, delivery.receipt
        if how == "extend":
            self.extend(delivery, delay_ms)
        elif how == "ack":
            assert self.rmq.ack(delivery) == [self.model.ack(raw, receipt)]
        elif how == "nack":
            expected = self.model.nack(raw, receipt, delay_ms, "Nack", "")
            assert self.rmq.nack(delivery, delay_ms=delay_ms) == [expected]
        elif how == "reject":
            assert self.rmq.reject(delivery) == [self.model.nack(raw, receipt, 0, "Reject", "", reject=True)]
        else:
            expected = self.model.release(raw, receipt, delay_ms or 0, delivery.score)
            assert self.rmq.release(delivery, delay_ms=delay_ms or 0) == [expected]

    def act(self, action: str) -> None:
        self.places_are_known()
        does = getattr(self.model, action)

        def tells(*given: Any) -> str:
            self.told = does(*given)
            return self.told

        setattr(self.model, action, tells)
        self.operate(ID, action, 60)  # which compares it with what Redis told
        delattr(self.model, action)

    def copies(self) -> Places:
        """Where they are."""
        held = [d.score for d in self.deliveries if d.raw_id == ID.encode() and self.model.valid(d.raw_id, d.receipt)]
        return Places.of(self.model, ID.encode(), held[0] if held else 0)

    def die(self) -> None:
        self.put()
        self.grab()
        self.settle_last("reject")

    def fail(self) -> None:
        self.put()
        self.grab()
        self.settle_last("nack", 60_000)

    def build(self, copies: Copies) -> None:
        """Brings the copies to where they are to lie, by operations."""
        lent = copies.waiting == "retry" and copies.flight
        if lent:
            self.fail()
            self.act("cancel")
        elif copies.trash == "dead":
            self.die()
            self.act("drop")
        elif copies.trash:
            self.put() if copies.trash == "store" else self.fail()
            self.act("cancel")
        if copies.dead or (lent and copies.trash):
            self.die()
        if copies.flight:
            self.put(inline=True)
            if copies.flight == "together":
                self.send("b", 1, None)
            self.grab(2 if copies.flight == "together" else 1)
        if lent:
            self.act("restore")
            if copies.trash:
                self.act("drop")
        elif copies.waiting == "store":
            self.put()
        elif copies.waiting:
            self.fail()
        self.redis_is_as_the_model_says()
        assert (
            Copies(
                "store" if ID.encode() in self.model.store else "retry" if ID.encode() in self.model.retry else "",
                copies.flight if ID.encode() in self.model.prepare else "",
                "dead" if ID.encode() in self.model.dead else "",
                self.model.trash[ID.encode()].queue if ID.encode() in self.model.trash else "",
            )
            == copies
        )

    def remember(self) -> Callable[[], None]:
        """Returns what brings back the present state, however often."""
        names = self.plain.keys(f"*{self.namespace}*")
        kept = dict(zip(names, self.dumps(names), strict=True))
        known = pickle.dumps([getattr(self, name) for name in KNOWN])
        deliveries, now_ms = [(each, each.receipt) for each in self.deliveries], self.redis.now_ms

        def back() -> None:
            self.plain.eval(PUT_BACK, 0, f"*{self.namespace}*", *chain.from_iterable(kept.items()))
            for name, value in zip(KNOWN, pickle.loads(known), strict=True):
                setattr(self, name, value)
            self.redis.move(now_ms - self.redis.now_ms)
            self.deliveries = [each for each, _ in deliveries]
            for each, receipt in deliveries:
                each.receipt = receipt

        return back

    def dumps(self, names: Iterable[bytes]) -> list[bytes]:
        pipeline = self.plain.pipeline(transaction=False)
        for name in names:
            pipeline.dump(name)
        return pipeline.execute()


def walker_on(
    client: ClockedRedis, plain: Any, namespace: str, kind: TopicKind, pattern: str, **options: int
) -> Walker:
    walker = Walker.__new__(type("Walker", (Walker,), {"kind": kind, "pattern": pattern}))
    client.move(0)
    walker.open(client, plain, namespace)
    walker.define(**{"retries": 3, "undo_ms": 86_400_000} | options, backoff_ms=0, merge="latest", journal="full")
    return walker
