"""A producer that remembers a topic of an earlier life sends to the one there is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace as changed

import pytest

from rmq_core import RMQ, AsyncProducer, AsyncRMQ, Control, PriorityMessage, Producer, Topic, TopicKind, errors
from rmq_core.client import base
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.ops.sending import MESSAGES_AT_ONCE

OLD = Topic("work", TopicKind.PRIORITY, slots=8)


@pytest.fixture(params=[{"slots": 8}, {"slots": 2}, {"slots": 2, "max_backlog": 100}], ids=str)
def new(request: pytest.FixtureRequest) -> Topic:
    return Topic("work", TopicKind.PRIORITY, **request.param)


@pytest.fixture
def other(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    """Whoever deletes the topic and defines it again."""
    with RMQ(redis_server.url, namespace) as client:
        client.define(OLD)
        yield client
        Control(client).delete_topic("work", force=True)


def messages(name: str) -> list[PriorityMessage]:
    return [PriorityMessage(f"{name}{number}", 20, slot_basis="same") for number in range(20)]


def remember(client: RMQ | AsyncRMQ) -> None:
    """The definition is as young as when it was read; the time it is trusted for must not decide the test."""
    topic = client._topics["work"][0]
    client._topics["work"] = (topic, float("inf"))


def replace(other: RMQ, new: Topic) -> None:
    Control(other).delete_topic("work", force=True)
    other.define(new)


def taken(other: RMQ) -> list[str]:
    return [each.text for each in other.take("work", 100)]


@pytest.mark.parametrize("flush_count", [1, 1_000])
@pytest.mark.parametrize("one_way", [False, True])
def test_a_producer_follows(other: RMQ, new: Topic, one_way: bool, flush_count: int) -> None:
    failed: list[tuple[BaseException, Sequence[object]]] = []
    with (
        RMQ(other.target.url, other.keyspace.namespace) as client,
        Producer(client, flush_count=flush_count, on_error=lambda *reported: failed.append(reported)) as producer,
    ):
        client.topic("work")
        remember(client)
        replace(other, new)
        if one_way:
            for each in messages("m"):
                producer.post("work", each)
            producer.flush()
        else:
            futures = [producer.send("work", each) for each in messages("m")]
            assert [future.result(30).merged for future in futures] == [False] * 20
    assert failed == []
    assert taken(other) == [str(each.content) for each in messages("m")]


@pytest.mark.parametrize("flush_count", [1, 1_000])
@pytest.mark.parametrize("one_way", [False, True])
def test_an_asyncio_producer_follows(other: RMQ, new: Topic, one_way: bool, flush_count: int) -> None:
    failed: list[tuple[BaseException, Sequence[object]]] = []

    async def send() -> None:
        async with (
            AsyncRMQ(other.target.url, other.keyspace.namespace) as client,
            AsyncProducer(
                client, flush_count=flush_count, on_error=lambda *reported: failed.append(reported)
            ) as producer,
        ):
            await client.topic("work")
            remember(client)
            replace(other, new)
            if one_way:
                for each in messages("m"):
                    await producer.post("work", each)
            else:
                sent = await asyncio.gather(*(producer.send("work", each) for each in messages("m")))
                assert [each.merged for each in sent] == [False] * 20

    asyncio.run(send())
    assert failed == []
    assert taken(other) == [str(each.content) for each in messages("m")]


@pytest.mark.parametrize("one_way", [False, True])
@pytest.mark.parametrize("before", [TopicKind.STREAM, TopicKind.RANGE_MERGE])
def test_a_producer_follows_another_kind(other: RMQ, before: TopicKind, one_way: bool) -> None:
    failed: list[tuple[BaseException, Sequence[object]]] = []
    replace(other, Topic("work", before, slots=8))
    with (
        RMQ(other.target.url, other.keyspace.namespace) as client,
        Producer(client, on_error=lambda *reported: failed.append(reported)) as producer,
    ):
        client.topic("work")
        remember(client)
        replace(other, OLD)
        sent = [producer.post("work", each) if one_way else producer.send("work", each) for each in messages("m")]
        producer.flush()
        assert one_way or [each.result(30).merged for each in sent if each is not None] == [False] * 20
    assert failed == []
    assert taken(other) == [str(each.content) for each in messages("m")]


def test_a_topic_that_is_gone_is_said_to_be(other: RMQ) -> None:
    with RMQ(other.target.url, other.keyspace.namespace) as client, Producer(client) as producer:
        client.topic("work")
        remember(client)
        Control(other).delete_topic("work", force=True)
        with pytest.raises(errors.UnknownTopic):
            producer.send("work", PriorityMessage("m", 20)).result(30)
    other.define(OLD)


def limiting(other: RMQ, after: int) -> Iterator[PriorityMessage]:
    """More messages than are sent at once. After some of them somebody gives the topic a limit."""
    for number in range(3 * MESSAGES_AT_ONCE):
        if number == after:
            Control(other).put_topic(changed(other.topic("work"), max_backlog=8), 1)
        yield PriorityMessage(f"{number}", 20)


def test_what_is_sent_for_hours_by_one_call_follows_the_definition(
    redis_server: EmbeddedRedis, other: RMQ, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "READ_ANEW_S", 0)  # a second has passed
    with RMQ(redis_server.url, namespace) as client:
        with pytest.raises(errors.BacklogFull) as refused:
            client.send_many("work", limiting(other, MESSAGES_AT_ONCE + 1))
        assert sum(refused.value.sent) == 2 * MESSAGES_AT_ONCE


async def test_coroutines_follow_it_too(
    redis_server: EmbeddedRedis, other: RMQ, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "READ_ANEW_S", 0)
    async with AsyncRMQ(redis_server.url, namespace) as client:
        with pytest.raises(errors.BacklogFull) as refused:
            await client.send_many("work", limiting(other, MESSAGES_AT_ONCE + 1))
        assert sum(refused.value.sent) == 2 * MESSAGES_AT_ONCE
