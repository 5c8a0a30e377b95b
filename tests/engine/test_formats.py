"""Data of a format that this release does not know: refused with a sentence, and nothing is changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from rmq_core import RMQ, Control, FixedTimeMessage, Inspector, Journal, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import UnknownFormat
from rmq_core.journal import reader
from rmq_core.model.report import Note
from rmq_core.model.topic import Topic as StoredTopic
from rmq_core.ops import reporting
from rmq_core.protocol import routes, scripts, sends, slot_calls, streams, takes
from rmq_core.protocol.scripts import Call, script
from rmq_core.protocol.takes import policy_at
from rmq_core.routes.forwarding import refusal
from tests.support.keys import remove_keys_of

NEWER = "f3 priority 2 1790000000000 and whatever else it will say"


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
    with pytest.raises(UnknownFormat, match="format 3"):
        act(rmq, taken)
    assert everything(rmq.connection.client, namespace) == before


def test_slots_with_holds_are_of_format_2_and_refuse_releases_that_know_none(rmq: RMQ) -> None:
    topic = rmq.define(Topic("work", TopicKind.PRIORITY, slots=1))
    stats = rmq.keyspace.slot("work", 0).stats

    def mark() -> bytes | None:
        return rmq.connection.client.hget(stats, "shape")

    rmq.send("work", PriorityMessage("a", 20))
    (hold,) = Control(rmq).hold("work", id="a")
    assert mark() == f"f2 {topic.shape}".encode()  # an older release compares it with its own
    rmq.send("work", PriorityMessage("b", 20))
    assert [each.text for each in rmq.take("work", 10)] == ["b"]
    Control(rmq).lift("work", hold)
    assert mark() == topic.shape.encode()


def called(rmq: RMQ, name: str, topic: Topic) -> Call:
    """A call of a script that writes to slot 0, as a client that has known the topic for longer makes it."""
    space = rmq.keyspace
    here = policy_at(space, topic, 0)
    receipt = [b"a", 1]
    about_ids = {"cancel", "drop", "requeue", "restore", "run_now"}
    arguments: dict[str, list[Any]] = {
        "ack": [*here, *receipt],
        "cycle": [*here, 1, "several", "", 0, 0, 0],
        "drop_orphan": [topic.shape, b"a"],
        "extend": [*here, -1, "several", *receipt],
        "fair_set": [*here, "1 1"],
        "hold": [*here, "i", b"a", "", "", 64],
        "journal_set": [topic.shape, "e", 9, 0],
        "lift": [*here, 1, 10],
        "nack": [*here, *receipt, 0, ""],
        "owed_paid": [topic.shape, b"1-1"],
        "put_back": [*here, 0, b"a", "w", b"s 20 - - - - "],
        "purge": [topic.shape, topic.created_ms, 1000],
        "reap": [*here, 10, 1000],
        "release": [*here, *receipt, 0, 20.0],
        "repair": [*here, 0, b"a", "20 - - -", 0],
        "repair_counters": [topic.shape, 0, 1],
        "reschedule": [*here, 30, "", b"a"],
        "shape_set": [topic.shape, topic.created_ms],
        "skip": [*here, b"a", 2, ""],
        "takeover": [*here, 10],
    }
    registry = [space.topics, space.deleted, space.format]
    if name == "topic_put":
        return Call(script(name), registry, [topic.name, topic.version, "{}", space.changes, 0, 1])
    if name == "topic_delete":
        return Call(script(name), registry, [topic.name, topic.version, space.changes, topic.created_ms, 1])
    if name == "topic_going":
        return Call(script(name), [space.topics, space.format], [topic.name, topic.version, topic.created_ms, 1])
    if name == "send":
        return sends.send(space, topic, 0, [20, b"b"], 20)
    if name in {"send_pooled", "send_limited"}:
        return getattr(sends, name)(space, topic, 0, [20, b"b", b"body"], 20)  # type: ignore[no-any-return]
    if name == "send_dry":
        return sends.send_dry(space, topic, 0, [20, b"b", b"body", 0, b""])
    if name == "report":
        (taken,) = rmq.take(topic.name)
        return reporting.report(space, topic, Note(taken, progress=b"1"))
    if name == "acquire":
        return slot_calls.acquire(space, topic, 0, 7)
    if name.startswith(("group_", "stream_")):
        return called_of_streams(rmq, name)
    if name in {"forward", "forward_out", "receive"}:
        return called_by_routes(rmq, name, topic)
    if name in about_ids:
        return slot_calls.on_ids(name, space, topic, 0, [b"a"])
    return Call(script(name), space.slot_keys(topic.name, 0), arguments[name])


def called_of_streams(rmq: RMQ, name: str) -> Call:
    """The same, of the scripts of a stream with two entries, of which its group has the first in flight."""
    space = rmq.keyspace
    topic = rmq.define(Topic("events", TopicKind.STREAM, slots=1))
    group = rmq.define_group("events", "all")
    entry = rmq.send("events", "a").id
    rmq.take(group.name)
    rmq.send("events", "b")
    registry = [space.groups(topic.name), space.format]
    told = [space.changes, topic.name]
    calls = {
        "group_claim": streams.claim(space, group, 0, "do", ["", 2**53, 0, 10]),
        "group_cycle": takes.cycle(space, group, 0, 1),
        "group_forget": Call(
            script("group_forget"), registry, [group.group, group.revision, group.created_ms, *told, 1]
        ),
        "group_place": streams.place(space, group, 0, "set", ["start"]),
        "group_put": Call(
            script("group_put"),
            [registry[0], space.groups_end(topic.name), space.format],
            [group.group, group.revision, "{}", *told, topic.created_ms, 1],
        ),
        "stream_add": streams.add(space, topic, 0, "sender", 1, 1, [b"c"], plain=True),
        "stream_delete": streams.delete(space, topic, 0, [entry]),
        "stream_trim": streams.trim(space, replace(topic, max_length=1, trim_unread=True), 0),
    }
    return calls[name]


def called_by_routes(rmq: RMQ, name: str, topic: Topic) -> Call:
    """The same, of the scripts that forward from the topic and bring to it."""
    space = rmq.keyspace
    (taken,) = rmq.take(topic.name)
    part = routes.Part(topic, 0, 20, [(1, (20, b"b", b""))])
    calls = {
        "forward": routes.forward(space, topic, 0, [taken], [part], "route", "route"),
        "forward_out": routes.forward_out(space, topic, 0, [taken], [(1, b"packed")], "route"),
        "receive": routes.receive(space, part, "", "route"),
    }
    return calls[name]


SCRIPTS = sorted(path.stem for path in (Path(scripts.__file__).parent / "lua").glob("*.lua"))
READ_ONLY = {name for name in SCRIPTS if "reads only" in scripts.source(f"{name}.lua").split("-- KEYS")[0]}
WRITES = {"DEL", "UNLINK", "SET", "HSET", "HDEL", "HINCRBY", "ZADD", "ZREM", "XADD", "XTRIM", "PEXPIRE", "INCR"}
COMPARE_NOTHING = {
    "hints_note": "a hint, on which nothing relies",
    "next_due": "corrects that hint; the take that follows refuses",
    "heartbeat": "says who is alive, whatever the data is",
    "lead": "says who leads; the leader reads definitions, and that refuses",
    "owned": "tells people of slots after acquire, which refuses",
    "journal_commit": "how far a reader is; readers compare the journal's own format",
    "replace": "a text of the console's, no topic's data",
    "append": "points of the console's history, no topic's data",
    "together_begin": "of a set, whose messages are sent by scripts that refuse",
    "together_done": "of a set, whose messages are acknowledged by scripts that refuse",
    "mark": "what the console's viewers look at, no topic's data",
    "rate": "grants to a take, which refuses",
    "quota_ask": "grants to a send, which refuses",
    "quota_measure": "grants to a send, which refuses",
    "quota_note": "grants to a send, which refuses",
    "quota_set": "grants to a send, which refuses",
    "permit_ask": "grants to a take, which refuses",
    "permit_measure": "grants to a take, which refuses",
    "permit_note": "grants to a take, which refuses",
    "permit_set": "grants to a take, which refuses",
}
"""What neither refuses nor says at its top that it reads only, and why that harms nobody."""


def test_what_reads_only_writes_nothing_of_its_own() -> None:
    assert set(SCRIPTS) - READ_ONLY >= set(COMPARE_NOTHING)
    folder = Path(scripts.__file__).parent / "lua"
    for name in READ_ONLY:
        commands = set(re.findall(r"redis\.call\('(\w+)'", (folder / f"{name}.lua").read_text()))
        assert not commands & WRITES, name


@pytest.mark.parametrize("name", sorted(set(SCRIPTS) - READ_ONLY - set(COMPARE_NOTHING)))
def test_every_script_that_writes_refuses_another_format(rmq: RMQ, namespace: str, name: str) -> None:
    """A client that has known the topic since before the namespace was converted."""
    topic = rmq.define(Topic("work", TopicKind.PRIORITY, slots=1))
    rmq.send("work", PriorityMessage("a", 20))
    call = called(rmq, name, topic)
    client = rmq.connection.client
    a_namespace_of_the_next_release(rmq)
    for queue in ("work", "events", "events@all"):
        client.hset(rmq.keyspace.slot(queue, 0).stats, "shape", NEWER)
    before = everything(client, namespace)
    with pytest.raises(UnknownFormat, match=r"format [23]"):  # a registry's is the namespace's
        (reply,) = rmq.connection.run([call])
        if name == "receive":  # says why in its reply
            raise refusal(topic, reply[0])
    assert everything(client, namespace) == before


def test_a_journal_of_another_format_is_not_read(rmq: RMQ) -> None:
    topic = rmq.define(Topic("later", TopicKind.FIXED_TIME, slots=1, journal=Journal.EVENTS))
    rmq.send("later", FixedTimeMessage("a", 2_000_000_000_000))
    key = rmq.keyspace.slot("later", 0).journal
    rmq.connection.client.xadd(key, {"n": 3, "v2": b"another form"})
    with pytest.raises(UnknownFormat, match="journal of topic 'later', slot 0"):
        rmq.run(reader.read(rmq.keyspace, topic, [0], {}))
