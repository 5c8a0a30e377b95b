"""A run on top of a closing state finds what one from scratch finds, reads only what is new, and believes nothing that
does not hold any more."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from rmq_core import RMQ, FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.compaction import compact
from rmq_core.pipeline.buckets import SIZES
from rmq_core.pipeline.history import accounts
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.state import closing, erased, merging
from rmq_core.pipeline.trends import Trend, trend
from rmq_core.pipeline.unchanged import is_unchanged
from tests.pipeline import parquet, streams, unproved
from tests.pipeline.frames import events
from tests.pipeline.scenarios import SCENARIOS

FAR_MS = 3_600_000
OF_THE_RUN = ("at_ms", "seen")


@pytest.fixture
def inputs(client: RMQ, tmp_path: Path) -> Inputs:
    (tmp_path / "ledger.csv").write_text("topic,id,expected\nlater,l0,done\nlater,nowhere,sent\n")
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
    return Inputs(options, f"{tmp_path}/archive", f"{tmp_path}/reports", (f"{tmp_path}/ledger.csv",))


def run(spark: Any, inputs: Inputs, name: str) -> tuple[dict[str, Any], list[Any], list[Any]]:
    """The summary, the findings with their evidence, and the figures."""
    summary = reconcile(spark, replace(inputs, run=name))
    found = [
        row | {"evidence": {key: said for key, said in json.loads(row["evidence"]).items() if key not in OF_THE_RUN}}
        for row in pq.read_table(f"{inputs.reports}/{name}/findings").to_pylist()  # type: ignore[no-untyped-call]
    ]
    figures = pq.read_table(f"{inputs.reports}/{name}/topics").to_pylist()  # type: ignore[no-untyped-call]
    return summary, found, sorted(figures, key=lambda row: str(row["topic"]))


def trends_of(archive: Path) -> dict[tuple[str, str], Trend]:
    """All windows."""
    found = {(topic, size): trend(str(archive), topic, size, 0, 2**62) for topic in ("work", "later") for size in SIZES}
    return {name: each for name, each in found.items() if each}


def live(client: RMQ, turn: int) -> list[bytes]:
    """Messages that wait, are in flight, retried, dead and done; those that are done."""
    due = int(time.time() * 1000) + FAR_MS
    client.send_many("work", [PriorityMessage(f"{turn}-{i}", priority=100 + i, key=f"k{turn}-{i}") for i in range(12)])
    client.send_many("later", [FixedTimeMessage(f"l{turn}", due_ms=due), FixedTimeMessage("again", due_ms=due + turn)])
    taken = client.take("work", 8)
    client.ack(taken[:3])
    client.nack(taken[3:5], error="Broken", message=f"in turn {turn}")
    client.reject(taken[5:6])
    client.release(taken[6:7])
    return [each.raw_id for each in taken[:3]]


def others(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is not of the streams, of which something was repaired between; without the times in the repairs' data."""
    kept = [row for row in rows if row["topic"] not in streams.TOPICS]
    return [row | {"repair_data": row.get("repair_data") is not None} for row in kept]


def test_increments_say_what_a_run_from_scratch_says(
    spark: Any, client: RMQ, inputs: Inputs, redis_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One story with streams, groups and a route, for the sake of its price."""
    path = tmp_path / "archive"
    options = {"journal": Journal.FULL, "backoff_ms": FAR_MS, "backoff_max_ms": FAR_MS, "visibility_timeout_ms": FAR_MS}
    client.define(Topic("work", TopicKind.PRIORITY, slots=1, **options))
    client.define(Topic("later", TopicKind.FIXED_TIME, slots=2, journal=Journal.EVENTS))
    done = live(client, 0)
    streams.live(client)
    archive(spark, inputs.options, str(path))
    summary, found, figures = run(spark, inputs, "first")
    streams.are_clean(summary, figures)
    assert set(summary["counts"]) <= {"missing_in_queue", "not_done", "unknown_to_business"}
    assert set(summary["read"]["from_scratch"].values()) == {"no closing state has it yet"}
    assert summary["read"]["closed"] and summary["read"]["events_known"] == 0
    # What had ended, and so left the state, is dead behind everybody's back; and done once more in the journal.
    keys = client.keyspace.slot("work", 0)
    with redis_server.client() as raw:
        raw.zadd(keys.dead, {done[0]: int(time.time() * 1000)})
        assert raw.zrem(keys.store, "k0-1") and raw.hdel(keys.body, "k0-1")
        lost = streams.spoil(client, raw)
    live(client, 1)
    archive(spark, inputs.options, str(path))
    parquet.add(path, "work", 0, ("acked", "p-", done[1]))
    live(client, 2)  # of which nothing is archived yet
    monkeypatch.setattr(merging, "FOLDERS_MOST", 1)
    monkeypatch.setattr(closing, "WINDOWS_MOST", 1)  # what there is in parts becomes one
    summary, found, figures = run(spark, inputs, "second")
    said = summary["read"]
    assert said["of_run"] == "first" and said["from_scratch"] == {} and said["looked_up"] == 2
    assert said["events_known"] > 0 and said["closed"]
    kinds = {(row["kind"], row["id"]) for row in found}
    assert {("unexpected", done[0]), ("ended_twice", done[1]), ("lost", b"k0-1")} <= kinds
    in_parts = trends_of(path)
    repair = streams.are_found_and_repaired(client, found, lost)
    scratch, same, and_figures = run(spark, replace(inputs, from_scratch=True), "scratch")
    streams.are_repaired(client, same, lost)
    assert scratch["read"]["events"] == said["events"] + said["events_known"] + repair
    assert others(found) == others(same)
    assert others(figures) == others(and_figures)
    assert trends_of(path) == in_parts
    figure = next(row for row in figures if row["topic"] == "work")
    (day,) = in_parts["work", "day"].windows
    assert day.counts["acked"] == figure["acked"] - 3 and not day.complete  # of the last turn nothing is archived
    assert sum(each.counts["sent"] for each in in_parts["work", "minute"].windows) == day.counts["sent"] == 24
    assert day.times["end_to_end"] and in_parts["work", "day"].since_ms <= in_parts["work", "day"].complete_ms
    # A compaction changes files, and nothing that is known; somebody else who does is not believed.
    assert compact(Archive(spark, str(path)), most=1, read_within_s=0) >= 1
    kept = Archive(spark, str(path)).pinned()
    assert set(closing.opened(kept, ["work", "later"], {}).known) == {"work", "later"}
    parquet.rewrite(parquet.files(path, "work")[0], lambda rows: rows)
    opened = closing.opened(kept, ["work", "later"], {})
    assert opened.scratch == {"work": "files"} and set(opened.known) == {"later"}
    assert closing.opened(kept, ["later"], {"later": 1}).scratch == {"later": "deleted"}
    # Nor is a state believed that has lost something itself: what it forgot would be missed by nobody.
    assert opened.version
    (path / "state" / "notes.json").write_text("somebody else's")
    for table in ("messages/topic=later", "windows/topic=later", "accounts"):
        lost = min((path / "state" / opened.known["later"].folder / table).glob("*.parquet"))
        content, times = lost.read_bytes(), lost.stat()
        lost.unlink()
        assert closing.opened(kept, ["later"], {}).scratch == {"later": "state"}
        of_erasures = erased.newest(kept)
        assert of_erasures and "later" not in of_erasures.known
        lost.write_bytes(content)
        os.utime(lost, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert closing.opened(kept, ["later"], {}).scratch == {}
        of_erasures = erased.newest(kept)
        assert of_erasures and "later" in of_erasures.known


@pytest.mark.parametrize("folders_most", [1, 8])
def test_what_a_state_has_lost_is_not_forgotten_by_runs_of_other_topics(
    spark: Any, client: RMQ, inputs: Inputs, monkeypatch: pytest.MonkeyPatch, folders_most: int
) -> None:
    inputs = replace(inputs, ledgers=())
    path = str(inputs.archive)
    for topic in ("work", "later"):
        client.define(Topic(topic, TopicKind.PRIORITY, slots=1, journal=Journal.FULL))
    for turn in range(2):
        for topic in ("work", "later"):
            client.send("later" if turn else topic, PriorityMessage(f"{topic}{turn}", priority=100))
        archive(spark, inputs.options, path)
        reconcile(spark, inputs)
    shutil.rmtree(min(Path(path).glob("state/*/messages/topic=later")))
    client.connection.run([("ZREM", client.keyspace.slot("later", 0).store, "later0")])
    client.send("work", PriorityMessage("new", priority=100))
    archive(spark, inputs.options, path)
    monkeypatch.setattr(merging, "FOLDERS_MOST", folders_most)
    of_work = replace(inputs, options=replace(inputs.options, topics=("work",)))
    assert reconcile(spark, of_work)["read"]["closed"]
    summary = reconcile(spark, inputs)
    assert summary["read"]["from_scratch"] == {"later": "files of its closing state are lost or have changed"}
    assert summary["counts"] == {"lost": 1}


def test_accounts_add_up_wherever_they_are_cut(spark: Any) -> None:
    """All that scenarios have of lives, pauses, gaps and doubled numbers; cut between any two entries of a slot."""
    assert unproved.READERS, "its scenarios are there when it is imported"
    random, slots = Random(7), [slot for each in SCENARIOS.values() for slot in each.slots]
    cuts = {(slot.topic, slot.number): random.choice(slot.entries)["position"] for slot in slots if slot.entries}
    frame = events(spark, slots).selectExpr("*", "n > 2 AS vouched")
    rows = [(*slot, position) for slot, position in cuts.items()]
    until = frame.join(spark.createDataFrame(rows, "topic string, slot int, cut long"), ["topic", "slot"])
    before = accounts.accounts(accounts.with_lives(until.where("position <= cut").drop("cut"))).localCheckpoint()
    after = accounts.with_lives(until.where("position > cut").drop("cut"), accounts.starts(before))
    new = accounts.accounts(after).localCheckpoint()
    repeated = set(accounts.overlapping(before, new))
    assert repeated <= {"numbers_given_twice", "gaps_follow_from_the_numbers"}

    def told(frame: Any) -> dict[tuple[Any, ...], dict[str, Any]]:
        found = [row.asDict() for row in frame.collect() if row.topic not in repeated]
        return {(row["topic"], row["slot"], row["life"]): row | {"vouched": row["vouched"] or 0} for row in found}

    assert told(accounts.added(before, new)) == told(accounts.accounts(accounts.with_lives(frame)))
    # Numbers that a server gives a second time cannot be added: that topic is read from scratch.
    slot = next(slot for slot in slots if slot.topic == "numbers_given_twice")
    fork = min(row["position"] for row in slot.entries if row["n"] == 12)
    frame = accounts.with_lives(events(spark, [slot]))
    known, then = (accounts.accounts(frame.where(f"position {where} {fork}")) for where in ("<=", ">"))
    assert accounts.overlapping(known, then) == ["numbers_given_twice"]


def note(batch: str, sources: dict[str, str], made: str) -> Any:
    return SimpleNamespace(date="d", batch=batch, last=batch.rpartition("-")[2], sources=json.dumps(sources), made=made)


@pytest.mark.parametrize(
    ("now", "notes", "same"),
    [
        ({"d/001": "a", "d/002": "b"}, [], True),
        ({"d/001": "a", "d/002": "b", "d/003": "new"}, [], True),
        ({"d/001": "a", "d/002": "edited"}, [], False),
        ({"d/001": "a"}, [], False),
        ({"d/001": "a", "d/002": "b", "e/001": "copied"}, [], False),
        ({"d/001-003": "m"}, [note("001-003", {"001": "a", "002": "b", "003": "c"}, "m")], True),
        ({"d/001-003": "edited"}, [note("001-003", {"001": "a", "002": "b", "003": "c"}, "m")], False),
        ({"d/001-003": "m"}, [note("001-003", {"001": "a", "002": "edited", "003": "c"}, "m")], False),
        ({"d/001-003": "m"}, [note("001-003", {"001": "a", "003": "c"}, "m")], False),
        (
            {"d/001-004": "n", "d/001": "a"},
            [note("001-003", {"001": "a", "002": "b"}, "m"), note("001-004", {"001-003": "m", "004": "d"}, "n")],
            True,
        ),
    ],
)
def test_files_that_are_not_as_they_were_are_noticed(now: dict[str, str], notes: list[Any], same: bool) -> None:
    assert is_unchanged({"d/001": "a", "d/002": "b"}, "002", now, notes) is same
