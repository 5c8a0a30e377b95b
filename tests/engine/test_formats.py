"""Data of a format that this release does not know: refused with a sentence, and nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from rmq_core import RMQ, Control, FixedTimeMessage, Inspector, Journal, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import UnknownFormat
from rmq_core.journal import reader
from rmq_core.model.topic import Topic as StoredTopic
from tests.support.keys import remove_keys_of

NEWER = "f2 priority 2 1790000000000 and whatever else it will say"


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    with RMQ(redis_server.url, namespace) as client:
        yield client
        remove_keys_of(client.connection.client, namespace)


def everything(client: Redis, namespace: str) -> dict[bytes, Any]:
    """The content of every key."""
    return {key: client.dump(key) for key in sorted(client.scan_iter(match=f"*{namespace}*"))}


def a_namespace_of_the_next_release(rmq: RMQ) -> None:
    rmq.connection.client.set(rmq.keyspace.format, "2")


def test_a_namespace_says_its_format(rmq: RMQ) -> None:
    rmq.define(Topic("work", TopicKind.PRIORITY))
    assert rmq.connection.client.get(rmq.keyspace.format) == b"1"


def test_a_namespace_from_before_there_were_formats_is_of_the_first(rmq: RMQ) -> None:
    rmq.define(Topic("work", TopicKind.PRIORITY))
    rmq.connection.client.delete(rmq.keyspace.format)
    rmq.forget("work")
    rmq.send("work", PriorityMessage("a", 20))
    assert rmq.take("work")[0].content == b"a"


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda rmq: rmq.define(Topic("work", TopicKind.PRIORITY)), id="define"),
        pytest.param(lambda rmq: rmq.define(Topic("new", TopicKind.PRIORITY)), id="define another"),
        pytest.param(lambda rmq: rmq.topic("work"), id="read"),
        pytest.param(lambda rmq: rmq.send("work", PriorityMessage("b", 20)), id="send"),
        pytest.param(lambda rmq: rmq.take("work"), id="take"),
        pytest.param(lambda rmq: Control(rmq).pause("work"), id="pause"),
        pytest.param(lambda rmq: Control(rmq).delete_topic("work", force=True), id="delete"),
        pytest.param(lambda rmq: Inspector(rmq).topics(), id="list"),
        pytest.param(lambda rmq: Control(rmq).drain("worker"), id="drain"),
        pytest.param(lambda rmq: Control(rmq).undrain("worker"), id="undrain"),
    ],
)
def test_another_format_of_the_namespace_is_refused(rmq: RMQ, namespace: str, act: Callable[[RMQ], Any]) -> None:
    rmq.define(Topic("work", TopicKind.PRIORITY, slots=2))
    rmq.send("work", PriorityMessage("a", 20))
    a_namespace_of_the_next_release(rmq)
    rmq.forget("work")
    before = everything(rmq.connection.client, namespace)
    with pytest.raises(UnknownFormat, match=r"is in format 2, and this release knows format 1 only"):
        act(rmq)
    assert everything(rmq.connection.client, namespace) == before


def test_the_script_that_stores_a_definition_compares_it_too(rmq: RMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = rmq.define(Topic("work", TopicKind.PRIORITY))
    stored = StoredTopic.to_json

    def meanwhile(self: Topic) -> str:
        a_namespace_of_the_next_release(rmq)
        return stored(self)

    monkeypatch.setattr(StoredTopic, "to_json", meanwhile)
    with pytest.raises(UnknownFormat, match="format 2"):
        Control(rmq).pause("work")
    rmq.connection.client.delete(rmq.keyspace.format)
    assert rmq.topic("work") == topic


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda rmq, _: rmq.send("work", PriorityMessage("b", 20)), id="send"),
        pytest.param(lambda rmq, _: rmq.send("work", PriorityMessage("c" * 100, 20)), id="send with a body"),
        pytest.param(lambda rmq, _: rmq.send_many("work", [PriorityMessage("b", 20)]), id="send many"),
        pytest.param(lambda rmq, _: rmq.take("work"), id="take"),
        pytest.param(lambda rmq, taken: rmq.ack(taken), id="ack"),
        pytest.param(lambda rmq, taken: rmq.nack(taken), id="nack"),
        pytest.param(lambda rmq, taken: rmq.release(taken), id="release"),
        pytest.param(lambda rmq, taken: rmq.extend(taken), id="extend"),
        pytest.param(lambda rmq, _: Control(rmq).cancel("work", "a0"), id="cancel"),
        pytest.param(lambda rmq, _: Control(rmq).requeue("work", "a0"), id="requeue"),
        pytest.param(lambda rmq, _: Control(rmq).drop("work", "a0"), id="drop"),
        pytest.param(lambda rmq, _: Control(rmq).delete_topic("work", force=True), id="delete"),
    ],
)
def test_the_scripts_refuse_slots_of_another_format(rmq: RMQ, namespace: str, act: Callable[[RMQ, Any], Any]) -> None:
    """A client that has known the topic since before the namespace was converted."""
    topic = rmq.define(Topic("work", TopicKind.PRIORITY, slots=2))
    rmq.send_many("work", [PriorityMessage(f"a{number}", 20) for number in range(20)])
    taken = rmq.take("work", 2)
    for slot in range(topic.slots):
        rmq.connection.client.hset(rmq.keyspace.slot("work", slot).stats, "shape", NEWER)
    before = everything(rmq.connection.client, namespace)
    with pytest.raises(UnknownFormat, match="format 2"):
        act(rmq, taken)
    assert everything(rmq.connection.client, namespace) == before


def test_a_journal_of_another_format_is_not_read(rmq: RMQ) -> None:
    topic = rmq.define(Topic("later", TopicKind.FIXED_TIME, slots=1, journal=Journal.EVENTS))
    rmq.send("later", FixedTimeMessage("a", 2_000_000_000_000))
    key = rmq.keyspace.slot("later", 0).journal
    rmq.connection.client.xadd(key, {"n": 3, "v2": b"another form"})
    with pytest.raises(UnknownFormat, match="journal of topic 'later', slot 0"):
        rmq.run(reader.read(rmq.keyspace, topic, [0], {}))
