"""A group's position in a slot that somebody has overwritten spoils that, and nothing else."""

from __future__ import annotations

import pytest

from rmq_core import RMQ, Control, Inspector, MessageRef, StreamMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import ScriptFailed

SPOILED = [
    *(b"", b"\xff", b"9-9 1", b"1-1 x 1-1 1-1 1 0 d", b"1-1 1 1-1 1-1 1 0 d and more", b"1-1 1 1-1 1-1 1 0 x"),
    *(
        b"x 1 1-1 1-1 1 0 d",
        b"1-1 1 1-1 x 1 0 d",
        b"9" * 25 + b"-0 1 1-1 1-1 1 0 d",
        b"1-1 1 1-1 1-18446744073709551616 1 0 d",
    ),
    *(b"1-1 " + b"9" * 400 + b" 1-1 1-1 1 0 d", b"1-1 " + b"9" * 18 + b" 1-1 1-1 1 0 d", b"1-1 1 1-1 1-1 1 0 d\n"),
]


@pytest.mark.parametrize("text", SPOILED)
def test_others_go_on_and_another_position_takes_its_place(
    redis_server: EmbeddedRedis, namespace: str, text: bytes
) -> None:
    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("log", TopicKind.STREAM, slots=1, max_length=3))
        for group in ("one", "other"):
            client.define_group("log", group)
        client.send_many("log", [StreamMessage(f"{i}") for i in range(3)])
        client.ack(client.take("log@one", 1))
        client.ack(client.take("log@other", 3))
        client.connection.run([("HSET", client.keyspace.slot("log@one", 0).positions, "one", text)])

        client.send_many("log", [StreamMessage(f"{i}") for i in range(3, 200)])
        taken = client.take("log@other", 500)
        assert len(taken) == 197
        (deleted,) = Control(client).delete_entries("log", [MessageRef(0, taken[-1].id)])
        assert deleted.status == "done"
        assert Control(client).trim("log") == 0
        sampled = {each.topic.name: each for each in Inspector(client).sample(groups=True)}
        assert sampled["log@one"].slots[0].lag is None
        assert sampled["log@other"].slots[0].lag == 0
        Inspector(client).slot("log@one", 0)
        with pytest.raises(ScriptFailed):
            client.take("log@one", 1)

        (moved,) = Control(client).set_position("log@one", "start")
        assert moved.lag == 199, "nothing was trimmed meanwhile"
        assert len(client.take("log@one", 500)) == 199
        Control(client).delete_topic("log", force=True)
