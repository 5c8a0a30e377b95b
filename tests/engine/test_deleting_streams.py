"""A stream topic goes with its groups, or stays with them, whatever others do at that moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from rmq_core import RMQ, Control, Inspector, Topic
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import UnknownTopic, VersionConflict
from rmq_core.streams.groups import delete_topic
from tests.support.meanwhile import meanwhile


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> RMQ:
    client = RMQ(redis_server.url, namespace)
    client.define(Topic("events", "stream", slots=2))
    for group in ("a", "b"):
        client.define_group("events", group)
    return client


def described(rmq: RMQ) -> Topic:
    topic = rmq.topic("events")
    return Control(rmq).put_topic(replace(topic, description="changed"), topic.version)


def once(act: Callable[[], object]) -> Callable[[], None]:
    done: list[object] = []
    return lambda: None if done else done.append(act())


@pytest.mark.parametrize("step", ["group_forget", "topic_delete"])
def test_whoever_changes_it_while_it_goes_is_refused(rmq: RMQ, redis_server: EmbeddedRedis, step: str) -> None:
    told: list[str] = []

    def changes() -> None:
        with pytest.raises(UnknownTopic, match="deleting"):
            described(rmq)
        told.append("refused")

    assert rmq.run(meanwhile(delete_topic(rmq.keyspace, "events"), step, once(changes))) == 0
    assert told == ["refused"]
    assert_gone(rmq, redis_server)


@pytest.mark.parametrize("step", ["group_forget", "topic_delete"])
def test_it_is_given_no_group_while_it_goes(rmq: RMQ, redis_server: EmbeddedRedis, step: str) -> None:
    told: list[str] = []

    def gives() -> None:
        with pytest.raises(UnknownTopic, match="deleting"):
            rmq.define_group("events", "c")
        told.append("refused")

    rmq.run(meanwhile(delete_topic(rmq.keyspace, "events"), step, once(gives)))
    assert told == ["refused"]
    assert_gone(rmq, redis_server)


def test_whoever_remembers_it_gives_it_no_group_when_it_is_gone(rmq: RMQ, redis_server: EmbeddedRedis) -> None:
    with RMQ(redis_server.url, rmq.keyspace.namespace) as other:
        Control(other).delete_topic("events")
    assert rmq.known_topic("events") is not None
    with pytest.raises(UnknownTopic):
        rmq.define_group("events", "c")
    assert_gone(rmq, redis_server)


def test_whoever_remembers_it_gives_a_group_to_the_one_made_anew(rmq: RMQ, redis_server: EmbeddedRedis) -> None:
    with RMQ(redis_server.url, rmq.keyspace.namespace) as other:
        Control(other).delete_topic("events")
        made = other.define(Topic("events", "stream", slots=4))
    assert rmq.known_topic("events") != made
    group = rmq.define_group("events", "a")
    assert (group.slots, group.created_ms >= made.created_ms) == (4, True)
    Control(rmq).delete_topic("events")


def test_what_is_sent_while_it_goes_keeps_no_topic_without_groups(rmq: RMQ, redis_server: EmbeddedRedis) -> None:
    sends = once(lambda: rmq.send("events", "late"))
    assert rmq.run(meanwhile(delete_topic(rmq.keyspace, "events"), "group_forget", sends)) == 1
    assert_gone(rmq, redis_server)


def test_whoever_was_first_has_changed_it_and_all_its_groups_stay(rmq: RMQ) -> None:
    seen = rmq.topic("events")
    pauses = once(lambda: described(rmq))
    with pytest.raises(VersionConflict):
        rmq.run(meanwhile(delete_topic(rmq.keyspace, "events", seen=seen), "topic_going", pauses))
    assert [group.group for group in Inspector(rmq).groups("events")] == ["a", "b"]
    Control(rmq).delete_topic("events")


def test_a_deletion_that_broke_off_is_begun_again(rmq: RMQ, redis_server: EmbeddedRedis) -> None:
    def breaks() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rmq.run(meanwhile(delete_topic(rmq.keyspace, "events"), "topic_delete", breaks))
    assert rmq.run(delete_topic(rmq.keyspace, "events")) == 0
    assert_gone(rmq, redis_server)


def assert_gone(rmq: RMQ, server: EmbeddedRedis) -> None:
    rmq.forget("events")
    with pytest.raises(UnknownTopic):
        rmq.topic("events")
    with server.client() as raw:
        left = [key for key in raw.scan_iter(f"*{rmq.keyspace.namespace}*events*") if not raw.pttl(key) > 0]
    assert left == []
