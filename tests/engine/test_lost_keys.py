"""A server comes back empty, or without some of its keys, while clients go on with what they remember."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rmq_core import RMQ, Control, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import TopicConflict, UnknownTopic
from rmq_core.journal.reader import Gap

MAIL = Topic("mail", TopicKind.PRIORITY, slots=4, journal="full")  # type: ignore[arg-type]


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis() as own:
        yield own


def send(client: RMQ, *names: str) -> None:
    client.send_many("mail", [PriorityMessage(name, priority=20) for name in names])


def held(server: EmbeddedRedis) -> int:
    return sum(server.client().zcard(f"rmq:mail_{slot}") for slot in range(4))


def test_nothing_is_accepted_that_no_journal_tells(server: EmbeddedRedis) -> None:
    with RMQ(server.url) as client:
        client.define(MAIL)
        send(client, "a")
        server.client().flushall()
        with pytest.raises(UnknownTopic):  # though it remembers the topic for a second
            client.send("mail", PriorityMessage("b", priority=20))
        client.define(MAIL)
        send(client, "c")
        told = list(client.journal("mail"))
        assert not [each for each in told if isinstance(each, Gap)]
        assert held(server) == 1


def test_a_slot_that_lost_all_it_had_journals_what_comes_next(server: EmbeddedRedis) -> None:
    with RMQ(server.url) as client:
        client.define(MAIL)
        keys = [key for key in server.client().keys("*") if b"mail_" in key]
        server.client().delete(*keys)
        for name in "abcdefgh":
            client.send("mail", PriorityMessage(name, priority=20))
        told = list(client.journal("mail"))
        assert not [each for each in told if isinstance(each, Gap)]
        assert sum(getattr(each, "event", "") == "sent" for each in told) == 8


def test_a_lost_registry_takes_no_message_with_it(server: EmbeddedRedis) -> None:
    with RMQ(server.url) as client, RMQ(server.url) as other:
        first = client.define(MAIL)
        send(client, *"abcdefgh")
        server.client().delete("rmq:topics")
        with pytest.raises(TopicConflict, match="slots are of kind=priority"):
            other.define(Topic("mail", TopicKind.FIXED_TIME, slots=4))
        again = other.define(MAIL)
        assert (again.created_ms, held(server)) == (first.created_ms, 8)
        assert again.version > first.version
        Control(other).delete_topic("mail", force=True)
        assert other.define(MAIL).created_ms > first.created_ms
        assert held(server) == 0
