"""What an operator does to messages, in whatever state they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from rmq_core import FixedTimeMessage, MessageRef, PriorityMessage, RangeMergeMessage, TopicKind, errors
from rmq_core.model.topic import QUEUE_KINDS
from rmq_core.model.views import MessageRow
from tests.engine.conformance.bench import FAR_MS, Bench

KINDS = QUEUE_KINDS


@dataclass
class Scene:
    """A slot with one message of each state, named for it (a priority topic has none that is delayed)."""

    bench: Bench
    kind: TopicKind

    async def act(self, name: str, *targets: Any, **options: Any) -> list[str]:
        results = await getattr(self.bench.control, name)("work", targets, **options)
        return [result.status for result in results]

    async def put(self, content: str, *, delayed: bool = False) -> None:
        now = await self.bench.now_ms()
        if self.kind is TopicKind.PRIORITY:
            await self.bench.q.send("work", PriorityMessage(content, 60, key=content))
        elif self.kind is TopicKind.FIXED_TIME:
            await self.bench.q.send(
                "work", FixedTimeMessage(content, now + FAR_MS if delayed else now, key=content), allow_past=True
            )
        else:
            await self.bench.q.send("work", RangeMergeMessage(content, FAR_MS, key=content))
            if not delayed:
                assert await self.act("run_now", content) == ["done"]

    async def build(self) -> None:
        for content in ("dead", "retrying", "in flight"):
            await self.put(content)
            (delivery,) = await self.bench.q.take("work")
            if content == "dead":
                await self.bench.q.reject(delivery)
            elif content == "retrying":
                await self.bench.q.nack(delivery, delay_ms=FAR_MS)
        await self.put("ready")
        if self.kind is not TopicKind.PRIORITY:
            await self.put("delayed", delayed=True)

    @property
    def ids(self) -> tuple[str, ...]:
        names = ("ready", "retrying", "in flight", "dead", "nowhere")
        return names if self.kind is TopicKind.PRIORITY else ("delayed", *names)


@pytest.fixture(params=KINDS)
async def scene(request: pytest.FixtureRequest, bench: Bench) -> Scene:
    await bench.topic(request.param)
    made = Scene(bench, request.param)
    await made.build()
    return made


def expected(scene: Scene, **statuses: str) -> list[str]:
    return [statuses.get(name.replace(" ", "_"), "not_found") for name in scene.ids]


async def test_cancel(scene: Scene) -> None:
    assert await scene.act("cancel", *scene.ids) == expected(
        scene, delayed="done", ready="done", retrying="done", in_flight="in_flight"
    )
    ledger = scene.bench.ledger()
    assert ledger.held == {b"in flight", b"dead"}
    assert ledger.stats["cancelled"] == len(scene.ids) - 3
    assert await scene.act("cancel", "ready") == ["not_found"]


async def test_run_now(scene: Scene) -> None:
    assert await scene.act("run_now", *scene.ids) == expected(
        scene, delayed="done", ready="done", retrying="done", in_flight="in_flight"
    )
    taken = await scene.bench.q.take("work", 10)
    assert {(d.text, d.attempt) for d in taken} == {
        (name, 2 if name == "retrying" else 1) for name in scene.ids if name in {"delayed", "ready", "retrying"}
    }


async def test_reschedule(scene: Scene) -> None:
    when = {"priority": 40} if scene.kind is TopicKind.PRIORITY else {"due_ms": await scene.bench.now_ms() + FAR_MS * 2}
    assert await scene.act("reschedule", *scene.ids, **when) == expected(
        scene, delayed="done", ready="done", retrying="done", in_flight="in_flight"
    )
    if scene.kind is TopicKind.PRIORITY:
        assert {d.priority for d in await scene.bench.q.take("work", 10)} == {40}
    else:
        assert await scene.bench.q.take("work", 10) == []
        (waiting,) = (await scene.bench.inspector.messages("work", "retrying")).rows
        assert (waiting.id, waiting.failures, waiting.score_ms) == ("retrying", 1, when["due_ms"])
        rows = (await scene.bench.inspector.messages("work", "delayed")).rows
        assert {(row.id, row.score_ms) for row in rows} == {("ready", when["due_ms"]), ("delayed", when["due_ms"])}


async def test_requeue(scene: Scene) -> None:
    for name in scene.ids:
        await scene.act("cancel", name)
    assert await scene.act("requeue", *scene.ids) == expected(scene, dead="done")
    (delivery,) = await scene.bench.q.take("work", 10)
    assert (delivery.text, delivery.attempt, delivery.content) == ("dead", 1, b"dead")
    if scene.kind is TopicKind.PRIORITY:
        assert delivery.priority == 60
    else:
        assert delivery.due_ms <= delivery.taken_ms
    await scene.bench.q.ack(delivery)
    assert await scene.act("requeue", "dead") == ["not_found"]
    assert scene.bench.ledger().pools["failed"] == {}


async def test_drop(scene: Scene) -> None:
    assert await scene.act("drop", *scene.ids) == expected(scene, dead="done")
    assert b"dead" not in scene.bench.ledger().pools["body"]
    assert scene.bench.ledger().stats["dropped"] == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_a_requeued_message_has_every_retry_again(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind, max_retries=1)
    scene = Scene(bench, kind)
    await scene.put("a")
    for _ in range(2):
        for attempt in (1, 2):
            (delivery,) = await bench.q.take("work")
            assert delivery.attempt == attempt
            await bench.q.nack(delivery)
        (view,) = await bench.inspector.find("work", "a")
        assert view.states == ("dead",)
        assert await scene.act("requeue", "a") == ["done"]
    assert view.failure.failures == 4


async def test_requeue_merges_into_a_newer_send_of_the_same_id(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("old", 20, key="k"))
    await bench.q.reject(await bench.take_one())
    await bench.q.send("work", PriorityMessage("new", 30, key="k"))
    ((ref, status),) = await bench.control.requeue("work", ["k"])
    assert (ref, status) == ((0, "k"), "done")
    (delivery,) = await bench.drain()
    assert (delivery.content, delivery.priority) == (b"new", 30)


async def died(bench: Bench, content: str) -> MessageRow:
    """The dead letter of the id k that has just died."""
    await bench.q.send("work", PriorityMessage(content, 20, key="k"))
    await bench.q.reject(await bench.take_one())
    return next(row for row in (await bench.inspector.messages("work", "dead")).rows if row.id == "k")


@pytest.mark.parametrize("action", ["requeue", "drop"])
async def test_a_dead_letter_that_was_seen_is_not_taken_for_a_later_one(bench: Bench, action: str) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("other", 20))
    await bench.q.reject(await bench.take_one())
    seen = await died(bench, "old")
    await bench.control.drop("work", ["k"])

    async def later() -> bool:
        return await bench.now_ms() > (seen.score_ms or 0)

    await bench.until(later, "a millisecond to go by")
    anew = await died(bench, "new")
    other = MessageRef(0, "other")
    act = getattr(bench.control, action)
    found = await act("work", [seen.ref, other], died_ms={seen.ref: seen.score_ms})
    assert found == [(seen.ref, "replaced"), (other, "done")]
    assert (await bench.inspector.messages("work", "dead")).rows == (anew,)
    with pytest.raises(errors.InvalidMessage, match="not named"):
        await act("work", [anew.ref], died_ms={other: 1})
    for wrong in ("5", None, True, -1, float("nan")):
        with pytest.raises(errors.InvalidMessage, match="a number from 0"):
            await act("work", [anew.ref], died_ms={anew.ref: wrong})
    assert await act("work", [anew.ref], died_ms={anew.ref: anew.score_ms}) == [(anew.ref, "done")]
    assert (await bench.inspector.messages("work", "dead")).rows == ()


async def test_a_released_message_promoted_by_an_operator_keeps_its_priority(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("a", 88))
    await bench.q.release(await bench.take_one(), delay_ms=FAR_MS)
    await bench.control.run_now("work", ["a"])
    delivery = await bench.take_one()
    assert (delivery.attempt, delivery.priority) == (1, 88)


async def test_messages_are_named_by_reference_text_or_bytes(bench: Bench) -> None:
    await bench.topic(slots=8)
    raw = b"\xff\x00raw"
    for content, options in (("plain", {}), (raw, {}), ("%41", {}), ("far", {"slot_basis": "elsewhere"}), ("row", {})):
        await bench.q.send("work", PriorityMessage(content, 20, **options))
    (far,) = await bench.inspector.find("work", "far")
    (found,) = await bench.inspector.find("work", "row")
    targets = ["plain", raw, "%253431", MessageRef(far.row.slot, "far"), found.row]
    results = await bench.control.cancel("work", targets)
    assert [(result.ref.id, result.status) for result in results] == [
        ("plain", "done"),
        ("%ff00726177", "done"),
        ("%253431", "done"),
        ("far", "done"),
        ("row", "done"),
    ]


async def test_an_id_alone_is_found_in_whatever_slots_hold_it(bench: Bench) -> None:
    await bench.topic(slots=16)
    for basis in ("one", "two"):
        await bench.q.send("work", PriorityMessage("twin", 20, slot_basis=basis))
    results = await bench.control.cancel("work", ["twin"])
    assert [result.status for result in results] == ["done", "done"]
    assert len({result.ref.slot for result in results}) == 2


async def test_thousands_at_once(bench: Bench) -> None:
    await bench.topic(slots=2)
    await bench.q.send_many("work", (PriorityMessage(str(i), 20) for i in range(3_000)))
    rows, cursor = [], None
    while page := await bench.inspector.messages("work", "ready", limit=500, cursor=cursor):
        rows += page.rows
        cursor = page.next_cursor
        if cursor is None:
            break
    results = await bench.control.cancel("work", [row.ref for row in rows])
    assert [result.ref for result in results] == [row.ref for row in rows]
    assert {result.status for result in results} == {"done"}
    assert len(results) == 3_000


@pytest.mark.parametrize("kind", [TopicKind.FIXED_TIME, TopicKind.RANGE_MERGE])
async def test_rescheduling_into_the_past_is_refused(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind)
    await Scene(bench, kind).put("a", delayed=True)
    before = bench.ledger()
    with pytest.raises(errors.DueInThePast):
        await bench.control.reschedule("work", ["a"], due_ms=await bench.now_ms() - 60_000)
    assert bench.ledger() == before


async def test_reschedule_takes_what_the_kind_knows(bench: Bench) -> None:
    await bench.topic(TopicKind.PRIORITY, name="prio")
    await bench.topic(TopicKind.FIXED_TIME, name="fixed")
    future = await bench.now_ms() + FAR_MS
    for topic, wrong, field in (
        ("prio", {"due_ms": future}, "priority"),
        ("prio", {"due_ms": future, "priority": 20}, "priority"),
        ("prio", {}, "priority"),
        ("prio", {"priority": 16}, "priority=16"),
        ("fixed", {"priority": 20}, "due_ms"),
        ("fixed", {}, "due_ms"),
    ):
        with pytest.raises(errors.InvalidMessage, match=field):
            await bench.control.reschedule(topic, ["a"], **wrong)
