"""Every operation on every way in which the copies of one entry can lie in a group, against the model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import NamedTuple

from rmq_core.embedded.redis import EmbeddedRedis
from tests.engine.clock import ClockedRedis
from tests.engine.model.test_cells import SETTLING
from tests.engine.model.test_group_model import GroupMachine
from tests.engine.model.test_model import TIMEOUT_MS
from tests.engine.model.walker import Walker

FAR_MS = 60_000
DAY_MS = 86_400_000


class Copies(NamedTuple):
    """Where copies of the entry lie; '' none."""

    waiting: str
    flight: str
    dead: str
    trash: str

    @property
    def looked_at(self) -> bool:
        """What comes to wait beside one in flight came from the dead or from the trash; and the trash matters only to
        what it can be restored beside."""
        if self.waiting == "retry" and self.flight:
            return False
        return not self.trash or self.flight != "alone"


PLACES = product(("", "store", "retry"), ("", "alone", "together"), ("", "dead"), ("", "store", "dead"))
ALL = [each for each in map(Copies._make, PLACES) if each.looked_at]


class GroupWalker(GroupMachine, Walker):
    """The stateful machine of groups, led by hand."""

    @property
    def raw(self) -> bytes:
        """The entry that all is about; there is one more behind it."""
        return self.ids[0]

    def grab(self, most: int = 1, *, inline: bool = False) -> None:
        self.time_passes(100)
        self.take(most, "anna")

    def again(self, most: int = 1) -> None:
        """The entry is read once more, for it is under way no longer."""
        self.steer("start")
        self.grab(most)

    def settle_last(self, how: str, delay_ms: int | None = None) -> None:
        (delivery,) = [d for d in self.deliveries if d.raw_id == self.raw and self.model.valid(d.raw_id, d.receipt)]
        self.settle_one(delivery, how, delay_ms)

    def act_on(self, action: str) -> None:
        self.operate(self.raw.decode(), action, 60)

    def die(self) -> None:
        self.again()
        self.settle_last("reject")

    def build_up(self, copies: Copies) -> None:
        """Brings the copies to where they are to lie, by operations."""
        self.send()
        self.send()
        if copies.trash == "store":
            self.again()
            self.settle_last("release")
            self.act_on("cancel")
        elif copies.trash:
            self.die()
            self.act_on("drop")
        lent = bool(copies.waiting and copies.flight)
        if copies.dead or lent:
            self.die()
        if copies.flight:
            self.again(2 if copies.flight == "together" else 1)
        if lent:
            self.act_on("requeue")
        elif copies.waiting:
            self.again()
            self.settle_last(*(("release", 0) if copies.waiting == "store" else ("nack", FAR_MS)))
        self.redis_is_as_the_model_says()


def timeout(walker: GroupWalker) -> None:
    walker.time_passes(TIMEOUT_MS)
    walker.keep()


def delete(walker: GroupWalker) -> None:
    walker.delete_one(walker.raw)
    walker.grab(3)


OPERATIONS: dict[str, Callable[[GroupWalker], None]] = {
    "take, one": lambda walker: walker.grab(1),
    "take, several": lambda walker: walker.grab(3),
    "take, from the start": lambda walker: walker.again(3),
    "run out of time": timeout,
    "takeover": lambda walker: walker.owner_dies(),
    "claim": lambda walker: walker.claim_all("anna"),
    "delete": delete,
    **{
        name: (lambda walker, name=name: walker.act_on(name))  # type: ignore[misc]
        for name in ("cancel", "run_now", "reschedule", "requeue", "drop", "restore")
    },
}


ENDING = ("run out of time", "takeover", "claim", "take, one", "cancel", *SETTLING)
BROUGHT_BACK = ("requeue", "cancel", "restore", "drop", "requeue", "restore", "requeue")
"""What an operator tries with what ended after the stream had deleted its entry."""


def after_its_deletion(walker: GroupWalker, operate: Callable[[], None]) -> None:
    walker.delete_one(walker.raw)
    operate()
    for action in BROUGHT_BACK:
        walker.redis_is_as_the_model_says()
        walker.act_on(action)


def walk(walker: GroupWalker, copies: Copies) -> None:
    walker.build_up(copies)
    back = walker.remember()

    def play(name: str, operate: Callable[[], None]) -> None:
        try:
            operate()
            walker.redis_is_as_the_model_says()
            walker.time_passes(90_000)
            walker.keep()
            for _ in range(3):
                walker.grab(3)  # whatever can still be delivered is
            walker.redis_is_as_the_model_says()
        except BaseException as error:
            error.add_note(f"{name}, with {copies}")
            raise
        back()

    operations = {name: partial(operate, walker) for name, operate in OPERATIONS.items()}
    if copies.flight:
        operations |= {name: partial(walker.settle_last, *how) for name, how in SETTLING.items()}
    for name, operate in operations.items():
        play(name, operate)
        if name in ENDING:
            play(f"{name}, after its deletion", partial(after_its_deletion, walker, operate))


def test_every_cell_of_a_group(redis_server: EmbeddedRedis, namespace: str) -> None:
    client, plain = ClockedRedis.open(redis_server.url), redis_server.client()
    for copies in ALL:
        walker = GroupWalker.__new__(GroupWalker)
        client.move(0)
        walker.open(client, plain, namespace)
        walker.define(retries=2, backoff_ms=0, undo_ms=DAY_MS, journal="events")
        walk(walker, copies)
        walker.clear()
    client.forget()
    client.close()
    plain.close()
