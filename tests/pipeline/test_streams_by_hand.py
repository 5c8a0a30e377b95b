"""Where groups stand, and what was added to streams: what the engine does itself is no fault; what somebody does by
hand is, on top of a closing state as from scratch, until it is set right."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rmq_core import RMQ, Control, StreamMessage, Topic, TopicKind
from rmq_core.errors import IdNotLarger
from rmq_core.model.ids import MessageRef
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions

FAR_MS = 3_600_000
Found = dict[str, dict[str, Any]]


@pytest.fixture
def report(spark: Any, client: RMQ, tmp_path: Path) -> Callable[..., Found]:
    """Archives, reconciles, and gives the evidence of each finding by its topic."""
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
    inputs, runs = Inputs(options, f"{tmp_path}/archive", f"{tmp_path}/reports"), iter(range(99))

    def reported(*, archived: bool = True, from_scratch: bool = False) -> Found:
        if archived:
            archive(spark, options, str(inputs.archive))
        name = str(next(runs))
        reconcile(spark, replace(inputs, run=name, from_scratch=from_scratch))
        rows = pq.read_table(f"{tmp_path}/reports/{name}/findings").to_pylist()  # type: ignore[no-untyped-call]
        return {row["topic"]: json.loads(row["evidence"]) | {"kind": row["kind"]} for row in rows}

    return reported


def define(client: RMQ, name: str, **options: Any) -> None:
    times: Any = {"backoff_ms": FAR_MS, "backoff_max_ms": FAR_MS, "visibility_timeout_ms": FAR_MS}
    client.define(Topic(name, TopicKind.STREAM, slots=1, journal="full", **times | options))


def cursor(client: RMQ, raw: Any, group: str) -> bytes:
    name = group.partition("@")[2]
    return bytes(raw.hget(client.keyspace.slot(group, 0).positions, name).partition(b" ")[0])


def stand_behind(client: RMQ, raw: Any, group: str, id: bytes) -> None:
    key, name = client.keyspace.slot(group, 0).positions, group.partition("@")[2]
    raw.hset(key, name, id + b" " + raw.hget(key, name).partition(b" ")[2])


def live(client: RMQ) -> list[str]:
    """All that moves a group without a fault; the groups."""
    control = Control(client)
    define(client, "log")
    for name in ("back", "back_far", "on", "made", "idle"):
        client.define_group("log", name, start="start")
    client.define_group("log", "unsettled", start="start", acks="none")
    client.send_many("log", [f"e{n}" for n in range(10)])
    for group in ("log@back", "log@back_far"):  # all of the last ones are under way when they are read again
        taken = client.take(group, 10)
        client.ack(taken[:4])
        client.nack(taken[4:5], error="Broken", message="later")
        control.set_position(group, "start" if group == "log@back" else taken[5].id)
    assert len(client.take("log@back", 10)) == 4 and client.take("log@back_far", 10) == []
    control.set_position("log@on", "end")
    client.take("log@unsettled", 5)
    client.ack(client.take("log@made", 3))
    control.delete_topic("log@made", force=True)
    client.define_group("log", "made", start="end")
    client.send_many("log", [f"f{n}" for n in range(3)])
    client.ack(client.take("log@made", 2))
    control.delete_entries("log", [MessageRef(0, taken[9].id)])
    define(client, "cut", max_length=4, trim="exact", trim_unread=True)
    client.define_group("cut", "slow", start="start")
    client.send_many("cut", [f"e{n}" for n in range(6)])
    client.take("cut@slow", 1)
    client.send_many("cut", [f"f{n}" for n in range(6)])
    with pytest.raises(IdNotLarger):  # what was added of it is taken back
        client.send_many("cut", [StreamMessage("x"), StreamMessage("y", id="5-1")])
    define(client, "anew")
    client.define_group("anew", "readers", start="start")
    client.send_many("anew", ["a", "b", "c"])
    client.ack(client.take("anew@readers", 2))
    control.delete_topic("anew", force=True)
    define(client, "anew")
    client.define_group("anew", "readers", start="start")
    client.send_many("anew", ["a", "b"])
    client.ack(client.take("anew@readers", 1))
    return ["log@back", "log@back_far", "log@on", "log@made", "log@idle", "log@unsettled", "cut@slow", "anew@readers"]


def test_groups_moved_by_hand_are_found_and_nothing_else(
    client: RMQ, report: Callable[..., Found], redis_server: Any
) -> None:
    groups = live(client)
    assert report(from_scratch=True) == {}
    Control(client).set_position("log@on", "start")
    client.ack(client.take("log@made", 1))
    assert report(archived=False) == {}  # of which nothing is archived yet
    assert report() == report(from_scratch=True) == {}
    with redis_server.client() as raw:
        stood = {group: cursor(client, raw, group) for group in groups}
        newest = {group: raw.xrevrange(client.keyspace.slot(group, 0).entries, count=1)[0][0] for group in groups}
        for group in groups:
            stand_behind(client, raw, group, b"1-1" if stood[group] == newest[group] else newest[group])
        found = report()
        assert {group: each["kind"] for group, each in found.items()} == dict.fromkeys(groups, "wrong_position")
        assert {group: each["expected"].encode() for group, each in found.items()} == stood
        assert report(from_scratch=True) == found
        for group in groups:
            Control(client).set_position(group, found[group]["expected"] if stood[group] != b"0-0" else "start")
        assert report() == {}
        at = {group: (client.keyspace.slot(group, 0).positions, group.partition("@")[2]) for group in groups[:7]}
        texts = {group: raw.hget(*where) for group, where in at.items()}
        spoiled = [b"\xff", stood[groups[1]], b"9" * 25 + texts[groups[2]][1:], texts[groups[3]][:-2]]
        largest, larger = b"18446744073709551615-0", b"18446744073709551616-0"  # of 64 bits, and none of them
        behind = [texts[group].partition(b" ")[2] for group in groups[4:6]]
        spoiled += [largest + b" " + behind[0], larger + b" " + behind[1], texts[groups[6]] + b"\n"]
        for where, text in zip(at.values(), spoiled, strict=True):
            raw.hset(*where, text)
        found = report()
        assert {group: each["kind"] for group, each in found.items()} == dict.fromkeys(at, "wrong_position")
        assert {group: each["expected"].encode() for group, each in found.items()} == {each: stood[each] for each in at}
        for group in at:
            Control(client).set_position(group, found[group]["expected"] if stood[group] != b"0-0" else "start")
        assert report() == {}


def test_an_entry_exchanged_by_hand_is_found_for_good(
    client: RMQ, report: Callable[..., Found], redis_server: Any
) -> None:
    live(client)
    with redis_server.client() as raw:
        key = client.keyspace.slot("log", 0).entries
        assert raw.xdel(key, raw.xrange(key, count=1)[0][0])
        raw.xadd(key, {"v": "of nobody"})
        (topic,) = found = report()
        assert (topic, found[topic]["kind"], found[topic]["around"]) == ("log", "slot_ledger", 1)
        client.send_many("log", ["g0", "g1"])
        assert report()["log"]["around"] == 1
        raw.hdel(client.keyspace.slot("log", 0).stats, "taken_back")  # a slot of an earlier release cannot say it
        assert report() == {}
