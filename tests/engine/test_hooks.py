"""Hooks around sends, around calls, before deaths: in the clients, the producers, a real worker and `TestQueue`."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import pytest

from rmq_core import (
    RMQ,
    AsyncProducer,
    AsyncRMQ,
    Delivery,
    Handling,
    Hook,
    Listener,
    PriorityMessage,
    Producer,
    Reject,
    Release,
    Retry,
    Sending,
    SentMany,
    StreamMessage,
    Topic,
    TopicKind,
)
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import BacklogFull, ConfigurationError, InvalidMessage, UnknownTopic
from rmq_core.hooks.chain import find_hooks
from rmq_core.ops import sending as sending_ops
from rmq_core.testing import Drained, TestQueue
from rmq_core.worker.calls import DIRECT, calls_through
from tests.engine.worker.bench import WorkerBench, open_bench
from tests.support.waiting import wait_until_async

MAIL = Topic("mail", TopicKind.PRIORITY, slots=2, backoff_ms=0, backoff_max_ms=0, max_retries=1)


class Noting(Hook):
    """Writes down what it is told."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self.name, self.notes = name, notes

    @contextmanager
    def sending(self, sending: Sending) -> Iterator[None]:
        self.notes.append(f"{self.name}: send {len(sending.messages)} to {sending.topic}")
        sending.add_headers({self.name: "was here"})
        try:
            yield
        finally:
            self.notes.append(f"{self.name}: {sending.result and type(sending.result).__name__}")

    @contextmanager
    def handling(self, handling: Handling) -> Iterator[None]:
        self.notes.append(f"{self.name}: {handling.deliveries[0].text} by {handling.worker}")
        try:
            yield
        except BaseException as error:
            self.notes.append(f"{self.name}: {type(error).__name__}")
            raise

    def dying(self, delivery: Delivery, error: BaseException) -> None:
        self.notes.append(f"{self.name}: {delivery.text} dies of {type(error).__name__}")


class Changing(Hook):
    """What a listener raises, or hides, becomes something else."""

    def __init__(self, outcome: BaseException | None) -> None:
        self.outcome = outcome

    @contextmanager
    def handling(self, handling: Handling) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            if self.outcome is not None:
                raise self.outcome from error


def fail(_: Delivery) -> None:
    raise ValueError("no")


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def queue(notes: list[str]) -> Iterator[TestQueue]:
    with TestQueue(hooks=[Noting("a", notes), Noting("b", notes)]) as queue:
        queue.define(MAIL)
        yield queue


def test_the_first_is_the_outermost(queue: TestQueue, notes: list[str]) -> None:
    seen: list[dict[str, str]] = []
    queue.send("mail", "hello", priority=20, headers={"b": "said by the message"})
    queue.drain(Listener("mail", lambda delivery: seen.append(delivery.headers)))
    assert notes == [
        "a: send 1 to mail",
        "b: send 1 to mail",
        "b: Sent",
        "a: Sent",
        "a: hello by test",
        "b: hello by test",
    ]
    assert seen == [{"a": "was here", "b": "said by the message"}]


def test_a_death_is_told_before_it_and_only_then(queue: TestQueue, notes: list[str]) -> None:
    queue.send("mail", "hello", priority=20)
    notes.clear()
    assert queue.drain(Listener("mail", fail)) == Drained(0, 2)
    once = ["a: hello by test", "b: hello by test", "b: ValueError", "a: ValueError"]
    assert notes == [*once, *once, "a: hello dies of ValueError", "b: hello dies of ValueError"]


@pytest.mark.parametrize(("outcome", "dies"), [(Reject("no"), True), (Release(delay_ms=60_000), False)])
def test_deaths_by_decision(queue: TestQueue, notes: list[str], outcome: BaseException, dies: bool) -> None:
    def decide(_: Delivery) -> None:
        raise outcome

    queue.send("mail", "hello", priority=20)
    queue.drain(Listener("mail", decide))
    assert ("a: hello dies of Reject" in notes) is dies
    assert any("dies" in note for note in notes) is dies


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (None, "gone"),
        (Reject("no"), "dead"),
        (Retry(delay_ms=60_000), "retrying"),
        (Release(delay_ms=60_000), "retrying"),
    ],
)
def test_a_hook_changes_the_outcome(outcome: BaseException | None, state: str) -> None:
    with TestQueue(hooks=[Changing(outcome)]) as queue:
        queue.define(MAIL)
        queue.send("mail", "hello", priority=20)
        queue.drain(Listener("mail", fail))
        (sample,) = queue.inspector.sample(["mail"])
        places = {"retrying": sample.retrying, "dead": sample.dead}
        assert [place for place, count in places.items() if count] == ([] if state == "gone" else [state])
        assert sample.ready == 0


def test_what_a_hook_raises_is_the_failure() -> None:
    class Broken(Hook):
        @contextmanager
        def handling(self, handling: Handling) -> Iterator[None]:
            raise OSError("no room for traces")
            yield

    ran: list[Delivery] = []
    with TestQueue(hooks=[Broken()]) as queue:
        queue.define(dataclasses.replace(MAIL, max_retries=0))
        queue.send("mail", "hello", priority=20)
        assert queue.drain(Listener("mail", ran.append)) == Drained(0, 1)
        (dead,) = queue.inspector.messages("mail", "dead").rows
        assert not ran and dead.failures == 1


@pytest.mark.parametrize("raised", [OSError("no room"), SystemExit(1), asyncio.CancelledError()])
def test_a_death_that_a_hook_cannot_bear_is_a_death(raised: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Hook):
        def dying(self, delivery: Delivery, error: BaseException) -> None:
            raise raised

    with TestQueue(hooks=[Broken()]) as other:
        other.define(MAIL)
        other.send("mail", "hello", priority=20)
        assert other.drain(Listener("mail", fail)) == Drained(0, 2)
        (sample,) = other.inspector.sample(["mail"])
        assert sample.dead == 1
    assert "a hook failed at the death of hello" in caplog.text


def test_coroutines_have_both_kinds_of_hooks() -> None:
    notes: list[str] = []

    class Waiting(Hook):
        def handling(self, handling: Handling) -> Any:
            raise AssertionError("this call can wait")

        @asynccontextmanager
        async def handling_async(self, handling: Handling) -> AsyncIterator[None]:
            await asyncio.sleep(0)
            notes.append("waits: begins")
            yield
            notes.append("waits: ends")

    async def work(delivery: Delivery) -> None:
        notes.append("works")

    with TestQueue(hooks=[Noting("a", notes), Waiting(), Noting("b", notes)]) as queue:
        queue.define(MAIL)
        queue.send("mail", "hello", priority=20)
        notes.clear()
        queue.drain(Listener("mail", work))
    assert notes == ["a: hello by test", "waits: begins", "b: hello by test", "works", "waits: ends"]


def test_sends_that_fail_are_heard(queue: TestQueue, notes: list[str]) -> None:
    with pytest.raises(UnknownTopic):
        queue.send("mial", "hello", priority=20)
    assert notes == ["a: send 1 to mial", "b: send 1 to mial", "b: None", "a: None"]
    notes.clear()
    nothing: Any = "only a content"
    for send in (queue.rmq.send, lambda topic, content: queue.rmq.send_many(topic, [content])):
        with pytest.raises(InvalidMessage):
            send("mail", nothing)
    with pytest.raises(UnknownTopic):
        queue.rmq.send_many("mial", [])
    assert notes == []


class Losing(Hook):
    @contextmanager
    def sending(self, sending: Sending) -> Iterator[None]:
        sending.messages = []
        yield


class ChangingInPlace(Hook):
    def __init__(self, change: Callable[[list[Any]], object]) -> None:
        self.change = change

    @contextmanager
    def sending(self, sending: Sending) -> Iterator[None]:
        self.change(sending.messages)
        yield


class Swallowing(Hook):
    @contextmanager
    def sending(self, sending: Sending) -> Iterator[None]:
        with suppress(UnknownTopic):
            yield


@pytest.mark.parametrize(
    ("hook", "words"), [(Losing(), "made 0 messages of 1"), (Swallowing(), "has swallowed the error")]
)
def test_hooks_may_not_lose_messages_or_errors(hook: Hook, words: str) -> None:
    with TestQueue(hooks=[hook]) as queue, pytest.raises(ConfigurationError, match=words):
        queue.send("mial", "hello", priority=20)


@pytest.mark.parametrize(
    ("change", "words"), [(list.clear, "made 0 messages of 2"), (lambda some: some.append(some[0]), "made 3 messages")]
)
def test_nor_change_their_number_in_place(change: Callable[[list[Any]], object], words: str) -> None:
    with TestQueue(hooks=[ChangingInPlace(change)]) as queue:
        queue.define(MAIL)
        with pytest.raises(ConfigurationError, match=words):
            queue.rmq.send_many("mail", [PriorityMessage("a", 20), PriorityMessage("b", 20)])
        assert not queue.inspector.messages("mail", "ready").rows


def test_many_go_in_parts_and_count_as_one(queue: TestQueue, notes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending_ops, "MESSAGES_AT_ONCE", 40)
    queue.define(Topic("few", TopicKind.PRIORITY, slots=1, max_backlog=90))
    some = [PriorityMessage(f"{i}", 20) for i in range(100)]
    assert queue.rmq.send_many("mail", some) == SentMany(100, 0)
    assert [note for note in notes if note.startswith("a: send")] == [f"a: send {n} to mail" for n in (40, 40, 20)]
    with pytest.raises(BacklogFull) as full:
        queue.rmq.send_many("few", some)
    assert sum(full.value.sent) + len(full.value.unsent) == 100 and sum(full.value.sent) >= 80


def test_what_is_no_hook_is_refused() -> None:
    for wrong in (Hook, "trace", lambda: None):
        with pytest.raises(ConfigurationError, match="is no hook"):
            RMQ(hooks=[wrong])  # type: ignore[list-item]


def test_hooks_are_found_by_name() -> None:
    here = "tests.engine.test_hooks"
    (made,) = find_hooks(f"{here}:Losing")
    assert isinstance(made, Losing)
    for wrong, words in (
        (here, "package.module:attribute"),
        (f"{here}:nothing", "cannot load hooks"),
        ("nowhere.at_all:x", "cannot load hooks"),
        (f"{here}:MAIL", "neither a hook nor a list"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            find_hooks(wrong)


def test_without_hooks_listeners_are_called_directly() -> None:
    with TestQueue() as queue:
        assert calls_through(queue.rmq.hooks, "ann") == DIRECT


# -- with a real server ----------------------------------------------------------------------------------------------


@pytest.fixture
def bench(redis_server: EmbeddedRedis, namespace: str) -> Iterator[WorkerBench]:
    with redis_server.client() as raw:
        yield from open_bench(redis_server.url, namespace, raw)


@pytest.mark.parametrize("is_async", [False, True])
async def test_in_a_worker(bench: WorkerBench, notes: list[str], is_async: bool) -> None:
    async def wait_and_fail(delivery: Delivery) -> None:
        await asyncio.sleep(0)
        fail(delivery)

    bench.rmq.define(MAIL)
    bench.rmq.send("mail", "hello", priority=20)
    listener = Listener("mail", wait_and_fail if is_async else fail)
    async with bench.running(listener, name="ann", hooks=[Noting("a", notes)]):
        await wait_until_async(lambda: bench.inspector.messages("mail", "dead").rows, what="the death")
    assert notes == ["a: hello by ann", "a: ValueError"] * 2 + ["a: hello dies of ValueError"]


def test_in_producers(bench: WorkerBench, notes: list[str]) -> None:
    bench.rmq.define(MAIL)
    with RMQ(bench.url, bench.namespace, hooks=[Noting("a", notes)]) as rmq, Producer(rmq) as producer:
        assert producer.send("mail", "one", priority=20).result(30).merged is False
        producer.post("mail", "two", priority=20)

    async def main() -> None:
        async with AsyncRMQ(bench.url, bench.namespace, hooks=[Noting("a", notes)]) as client:
            await client.send("mail", "three", priority=20)
            await client.send_many("mail", [PriorityMessage("four", 20)])
            async with AsyncProducer(client) as other:
                await other.send("mail", "five", priority=20)
                await other.post("mail", "six", priority=20)

    asyncio.run(main())
    taken = bench.rmq.take("mail", 10)
    assert sorted(each.text for each in taken) == ["five", "four", "one", "six", "three", "two"]
    assert all(each.headers == {"a": "was here"} for each in taken)
    bench.rmq.ack(taken)
    assert [note for note in notes if "send" in note] == ["a: send 1 to mail"] * 6


def test_entries_of_streams_go_through_them_whatever_they_were_given_as(bench: WorkerBench, notes: list[str]) -> None:
    bench.rmq.define(Topic("events", TopicKind.STREAM, slots=2))
    with RMQ(bench.url, bench.namespace, hooks=[Noting("a", notes)]) as rmq:
        rmq.send("events", {"bare": 1})
        assert rmq.send_many("events", ["bare", StreamMessage("ready", headers={"own": "1"})]) == (2, 0)
        with Producer(rmq) as producer:
            producer.send("events", "buffered")
        assert notes[:4] == ["a: send 1 to events", "a: Sent", "a: send 2 to events", "a: SentMany"]
        entries = rmq.read("events").entries
    assert len(entries) == 4
    assert all(entry.headers["a"] == "was here" for entry in entries)


async def test_entries_of_an_asyncio_client_too(bench: WorkerBench, notes: list[str]) -> None:
    bench.rmq.define(Topic("events", TopicKind.STREAM, slots=2))
    async with AsyncRMQ(bench.url, bench.namespace, hooks=[Noting("a", notes)]) as rmq:
        await rmq.send("events", "bare")
        assert await rmq.send_many("events", ["one", "two"]) == (2, 0)
    assert {entry.headers["a"] for entry in bench.rmq.read("events").entries} == {"was here"}
