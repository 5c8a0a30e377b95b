"""Consumer groups over REST: listed, taken from, settled; their dead letters are their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from console.engine import new_async_engine
from console.keeper.sampler import Sampler
from console.options import options
from console.snapshots.store import LiveKeys
from rmq_core import TopicKind
from tests.console.api.conftest import Caller
from tests.console.conftest import Queue


def events(queue: Queue, *groups: str, **settings: int) -> None:
    queue.topic("events", TopicKind.STREAM, slots=1, **settings)
    for group in groups:
        queue.client.define_group("events", group)
    queue.client.send_many("events", ["a", "b", "c"])


def test_groups_are_listed_with_what_they_stand_at(
    queue: Queue, operator: Caller, caller: Callable[..., Caller]
) -> None:
    events(queue, "mail", "statistics")
    queue.client.ack(queue.client.take("events@mail"))
    mail, statistics = operator.ok("GET", "/topics/events/groups")["groups"]
    assert (mail["group"], mail["lag"], mail["acked"], mail["in_flight"]) == ("mail", 2, 1, 0)
    assert (statistics["name"], statistics["lag"], statistics["read"], statistics["durable"]) == (
        "events@statistics", 3, 0, True,
    )  # fmt: skip
    assert operator.get("/topics/nosuch/groups").status_code == 404
    assert caller("Operator", "orders").get("/topics/events/groups").status_code == 403
    assert caller("Operator", "events").get("/topics/events@mail").status_code == 403
    assert caller("Viewer", "events*").ok("GET", "/topics/events@mail")["counts"]["counters"]["acked"] == 1
    assert operator.get("/topics/events@nosuch").status_code == 404


def test_a_group_is_taken_from_and_its_dead_letters_are_its_own(queue: Queue, caller: Callable[..., Caller]) -> None:
    events(queue, "mail", "statistics")
    program = caller("Operator")
    taken = program.ok("POST", "/topics/events@mail:take", {"max": 2})["deliveries"]
    assert [each["content"] for each in taken] == ["a", "b"]
    outcomes = [{"receipt": each["receipt"], "outcome": how} for each, how in zip(taken, ("ack", "nack"), strict=True)]
    assert program.ok("POST", "/topics/events@mail:settle", {"settle": outcomes})["done"] == 2
    (dead,) = program.ok("GET", "/topics/events@mail/dead")["rows"]
    assert dead["id"] == taken[1]["id"]
    assert program.ok("GET", "/topics/events@statistics/dead")["rows"] == []
    body = {"ids": [dead["id"]], "reason": "mended"}
    assert program.ok("POST", "/topics/events@mail/dead:requeue", body)["done"] == 1
    (again,) = program.ok("POST", "/topics/events@mail:take", {"max": 1})["deliveries"]
    assert again["id"] == dead["id"]
    assert program.post("/topics/events@mail:pause").status_code == 200
    assert program.ok("POST", "/topics/events@mail:take", {"max": 1})["deliveries"] == []


def test_the_keeper_puts_back_what_a_group_left(queue: Queue) -> None:
    events(queue, "mail", visibility_timeout_ms=100)
    queue.client.take("events@mail")

    async def rounds() -> dict[str, int]:
        own = new_async_engine()
        sampler = Sampler(own, LiveKeys(options().namespace), 1000, 10_000)
        reaped: dict[str, int] = {}
        while not reaped:
            reaped = (await sampler.round()).reaped
        await own.client.close()
        return reaped

    assert asyncio.run(rounds()) == {"events@mail": 1}
