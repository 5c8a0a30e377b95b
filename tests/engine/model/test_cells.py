"""Every operation on every way in which the copies of one id can lie: the table of docs/explanation/merging.md.

Each is played on a real server against the model; what then became of the copies must be what the table's cells say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import fakeredis
import pytest

from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.topic import QUEUE_KINDS, TopicKind
from rmq_core.protocol.scripts import Call, script
from tests.engine.clock import ClockedRedis
from tests.engine.model import cells_in_words
from tests.engine.model.deeds import Deed
from tests.engine.model.test_model import TIMEOUT_MS
from tests.engine.model.walker import ALL, DEAD, DELAY_MS, FLIGHT, ID, WAITING, Copies, Walker, walker_on
from tests.support.keys import keys_of


def timeout(walker: Walker) -> None:
    walker.time_passes(TIMEOUT_MS)
    walker.keep()


def promote(walker: Walker) -> None:
    """What is in flight is given the time to see it."""
    if ID.encode() in walker.model.prepare:
        walker.settle_last("extend", 120_000)
    walker.time_passes(60_000)
    walker.keep()


def expire(walker: Walker) -> None:
    """One that is late by the time it could be taken."""
    walker.send(ID, 20, 3, 1)
    walker.grab(1)


def send_several(walker: Walker) -> None:
    walker.send_many([(ID, 20, 2), (ID, 60, None), ("c", 20, None), (ID, 20, 3)])


OPERATIONS: dict[str, Callable[[Walker], None]] = {
    "send, inline": lambda walker: walker.send(ID, 20, None),
    "send, pooled": lambda walker: walker.send(ID, 20, 2),
    "send, newer version": lambda walker: walker.send(ID, 20, 3),
    "send, older version": lambda walker: walker.send(ID, 20, 1),
    "send, twice in one batch": send_several,
    "take, one": lambda walker: walker.grab(1),
    "take, several": lambda walker: walker.grab(3),
    "run out of time": timeout,
    "takeover": lambda walker: walker.owner_dies(),
    "promote": promote,
    "cancel": lambda walker: walker.act("cancel"),
    "reschedule": lambda walker: walker.act("reschedule"),
    "run_now": lambda walker: walker.act("run_now"),
    "requeue": lambda walker: walker.act("requeue"),
    "drop": lambda walker: walker.act("drop"),
    "restore": lambda walker: walker.act("restore"),
    "expire": expire,
}
CELLS = cells_in_words.table()
SETTLING: dict[str, tuple[str, int | None]] = {
    "ack": ("ack", None),
    "nack": ("nack", 0),
    "nack, with a delay": ("nack", DELAY_MS),
    "reject": ("reject", None),
    "release": ("release", 0),
    "release, with a delay": ("release", DELAY_MS),
    "extend": ("extend", DELAY_MS),
}


def walk(walker: Walker, copies: Copies, only: Iterable[str] = ()) -> None:
    walker.build(copies)
    back, before = walker.remember(), walker.copies()

    def play(name: str, operate: Callable[[], None], after: Callable[[], None] = lambda: None) -> None:
        if only and name not in only:
            return
        try:
            walker.told = None
            operate()
            walker.redis_is_as_the_model_says()
            cells_in_words.check(CELLS, Deed(name, before, walker.copies(), walker.told, walker.model))
            after()
        except BaseException as error:
            error.add_note(f"{name}, with {copies}")
            raise
        back()

    def whatever_can_still_be_delivered_is() -> None:
        walker.time_passes(90_000)
        walker.keep()
        walker.grab(3)
        walker.redis_is_as_the_model_says()

    for name, operate in OPERATIONS.items():
        play(name, partial(operate, walker), whatever_can_still_be_delivered_is)
    for name, (how, delay_ms) in SETTLING.items() if copies.flight else ():
        play(name, partial(walker.settle_last, how, delay_ms))


@pytest.mark.parametrize("kind", QUEUE_KINDS)
def test_every_cell_on_redis(redis_server: EmbeddedRedis, namespace: str, kind: TopicKind) -> None:
    """Each way in which copies lie meets both patterns, and each kind one of them."""
    client, plain = ClockedRedis.open(redis_server.url), redis_server.client()
    for number, copies in enumerate(ALL, QUEUE_KINDS.index(kind)):
        walker = walker_on(client, plain, namespace, kind, ("pooled", "mixed")[number % 2])
        walk(walker, copies)
        walker.clear()
    client.forget()
    client.close()
    plain.close()


class ClockedFake(ClockedRedis, fakeredis.FakeRedis):
    """The same clock for scripts that run inside the process."""


def test_the_cells_on_fakeredis(namespace: str, fake_server: fakeredis.FakeServer) -> None:
    """Without the combinations with the trash, and each with one kind: the scripts treat them as they do on Redis."""
    client, plain = ClockedFake(server=fake_server), fakeredis.FakeRedis(server=fake_server)
    client.move(0)
    for copies in ALL:
        if not copies.trash:
            mixed = WAITING.index(copies.waiting) + FLIGHT.index(copies.flight) + DEAD.index(copies.dead)
            kind = QUEUE_KINDS[mixed % len(QUEUE_KINDS)]
            walker = walker_on(client, plain, namespace, kind, "mixed")
            walk(walker, copies)
            walker.clear()
    client.forget()


def test_every_operation_of_the_documented_table_is_walked() -> None:
    assert set(CELLS) == {*OPERATIONS, *SETTLING, "purge"}


def test_what_fails_at_its_last_try_dies_and_what_cannot_be_undone_is_gone(
    redis_server: EmbeddedRedis, namespace: str
) -> None:
    """The cells that say "or dies", and those that say `undo_ms`."""
    client, plain = ClockedRedis.open(redis_server.url), redis_server.client()
    failing = ("nack", "nack, with a delay", "run out of time", "takeover")
    for copies in ALL:
        for only, options, fits in (
            (failing, {"retries": 0}, copies.flight and "retry" not in copies),
            (("cancel", "drop"), {"undo_ms": 0}, not copies.trash and not (copies.flight and "retry" in copies)),
        ):
            if fits:
                walker = walker_on(client, plain, namespace, TopicKind.PRIORITY, "pooled", **options)
                walk(walker, copies, only)
                walker.clear()
    client.forget()
    client.close()
    plain.close()


@pytest.mark.parametrize("kind", QUEUE_KINDS)
def test_purge_leaves_nothing_of_any_copy(redis_server: EmbeddedRedis, namespace: str, kind: TopicKind) -> None:
    client, plain = ClockedRedis.open(redis_server.url), redis_server.client()
    for copies in ALL:
        walker = walker_on(client, plain, namespace, kind, "mixed")
        walker.build(copies)
        keys = walker.rmq.keyspace.slot_keys("t", 0)
        held = sum(map(len, walker.model.queues()))
        topic = walker.rmq.topic("t")
        purge = Call(script("purge"), keys, [topic.shape, topic.created_ms, 60_000])
        assert client.execute_command(*purge.by_text()) == held
        assert [key for key in keys_of(plain, namespace) if key.endswith((":t_0", ":t_0}"))] == []
        assert plain.hgetall(f"stats{{{namespace}:t_0}}") == {b"shape": b"gone %d" % topic.created_ms}
        walker.clear()
    client.forget()
    client.close()
    plain.close()


def test_what_the_cells_say_beside_the_copies_of_one_id(redis_server: EmbeddedRedis, namespace: str) -> None:
    """`cells_in_words.TOLD_ELSEWHERE`, and that a receipt of before a purge is stale."""
    client, plain = ClockedRedis.open(redis_server.url), redis_server.client()
    walker = walker_on(client, plain, namespace, TopicKind.PRIORITY, "pooled")
    assert "what stands behind a suspect stays" in CELLS["take, several"]["waiting"]
    walker.put()
    walker.send("b", 20, 2)
    walker.grab(2)
    timeout(walker)
    walker.grab(3)
    assert (set(walker.model.prepare), set(walker.model.store)) == ({b"b"}, {b"a"})
    walker.clear()
    walker = walker_on(client, plain, namespace, TopicKind.PRIORITY, "pooled")
    assert CELLS["restore"]["trash"].endswith("with `removed_ms`, only a copy that was removed then, else `replaced`")
    walker.build(Copies("", "", "", "store"))
    at_ms = walker.model.trash[b"a"].removed_ms
    for span, told in (
        ((at_ms + 1, at_ms + 9), "replaced"),
        ((at_ms - 9, at_ms - 1), "replaced"),
        ((at_ms,) * 2, "done"),
    ):
        assert [each.status for each in walker.control.restore("t", ID, removed_ms=span)] == [told]
    assert plain.zcard(walker.rmq.keyspace.slot("t", 0).store) == 1
    walker.clear()
    walker = walker_on(client, plain, namespace, TopicKind.PRIORITY, "pooled")
    assert CELLS["purge"] == dict.fromkeys(CELLS["purge"], "gone") | {"flight": "gone, its receipt is stale"}
    walker.build(Copies("store", "alone", "dead", "store"))
    (delivery,) = [each for each in walker.deliveries if walker.model.valid(each.raw_id, each.receipt)]
    walker.control.delete_topic("t", force=True)
    walker.define(retries=3, backoff_ms=0, merge="latest", undo_ms=86_400_000, journal="full")
    assert walker.rmq.ack(delivery) == ["stale"]
    walker.clear()
    client.forget()
    client.close()
    plain.close()
