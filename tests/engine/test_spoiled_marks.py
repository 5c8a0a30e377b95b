"""What a slot notes of its topic's journal and turns, overwritten by somebody, spoils that slot for a moment alone."""

from __future__ import annotations

import pytest

from rmq_core import RMQ, Control, Inspector, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.topic import Journal
from rmq_core.ops import fair_marks, journal_marks
from rmq_core.ops.reaper import reap_overdue
from tests.support.waiting import wait_until

SPOILED = [b"", b"\xff", b"f", b"f x y", b"f 1 x", b"f 1 2 3", b"x 1 2", b"f " + b"9" * 25 + b" 0", b"1", b"1 \xff"]


OTHER = Topic("other", TopicKind.PRIORITY, slots=1, visibility_timeout_ms=100)


@pytest.mark.parametrize("text", SPOILED)
@pytest.mark.parametrize("field", ["journal", "fair"])
@pytest.mark.parametrize("asked", [True, False], ids=["on", "off"])
def test_the_keeper_sets_a_mark_anew_and_goes_on_with_all_topics(
    redis_server: EmbeddedRedis, namespace: str, field: str, text: bytes, asked: bool
) -> None:
    topic = Topic("work", TopicKind.PRIORITY, slots=2, fair=asked, journal=Journal.FULL if asked else Journal.OFF)
    with RMQ(redis_server.url, namespace) as client:
        topic = client.define(topic)
        client.define(OTHER)
        client.send("other", PriorityMessage("a", 20))
        client.take("other")
        stats = client.keyspace.slot("work", 0).stats
        client.connection.run([("HSET", stats, field, text)])
        wait_until(
            lambda: client.run(reap_overdue(client.keyspace, Inspector(client).sample(), 0)).get("other") == 1,
            what="what timed out in another topic",
        )
        ((journal, fair),) = client.connection.run([("HMGET", stats, "journal", "fair")])
        assert not journal_marks.outdated(topic, journal) and not fair_marks.outdated(topic, fair)
        assert client.send_many("work", [PriorityMessage(f"{number}", 20) for number in range(20)]).new == 20
        for name in ("work", "other"):
            Control(client).delete_topic(name, force=True)


@pytest.mark.parametrize("text", SPOILED)
@pytest.mark.parametrize("field", ["journal", "fair"])
def test_a_topic_whose_registry_was_lost_is_defined_again(
    redis_server: EmbeddedRedis, namespace: str, field: str, text: bytes
) -> None:
    topic = Topic("work", TopicKind.PRIORITY, slots=2, journal=Journal.FULL)
    with RMQ(redis_server.url, namespace) as client:
        before = client.define(topic)
        client.send_many("work", [PriorityMessage(f"{number}", 20) for number in range(20)])
        client.connection.run([("HSET", client.keyspace.slot("work", 0).stats, field, text)])
        client.connection.run([("HDEL", client.keyspace.topics, "work")])
        assert client.define(topic).created_ms == before.created_ms
        assert len(client.take("work", 20)) == 20
        Control(client).delete_topic("work", force=True)
