"""The reference calls each key what Redis calls it."""

from __future__ import annotations

from redis import Redis

from docsite.described import attributes
from rmq_core import RMQ, Control, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.protocol.keys import OWN_KEYS, Keyspace, SlotKeys

CALLED = {"zset": "Sorted set", "hash": "Hash", "stream": "Stream", "string": "String"}


def test_keys_are_of_the_type_that_is_said(redis_server: EmbeddedRedis, namespace: str) -> None:
    topic = Topic("mail", TopicKind.PRIORITY, slots=1, max_retries=1, max_backlog=100, journal="full")
    texts, keys = attributes(SlotKeys) | attributes(Keyspace), Keyspace(namespace)
    with RMQ(redis_server.url, namespace) as rmq, Redis.from_url(redis_server.url) as redis:
        rmq.define(topic)
        for content in ("dead", "removed", "retried", "taken", "one", "two"):
            rmq.send(topic, content, priority=20, key=content)
        rmq.reject(rmq.take(topic), message="why")
        Control(rmq).cancel(topic, "removed")
        rmq.nack(rmq.take(topic), delay_ms=60_000)
        rmq.take(topic, max=2)
        own = {name: getattr(keys.slot("mail", 0), name) for name in OWN_KEYS}
        own |= {"topics": keys.topics}
        types = {name: redis.type(key).decode() for name, key in own.items()}
        Control(rmq).delete_topic(topic, force=True)
    there = {name: kind for name, kind in types.items() if kind != "none"}
    assert len(there) > 12
    assert {name: texts[name].split(":")[0].split(",")[0] for name in there} == {
        name: CALLED[kind] for name, kind in there.items()
    }
