"""A round that compares only the slots in which something moved says what one of everything says, from scratch."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from rmq_core import RMQ, Control, FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.program import rounds
from rmq_core.pipeline.program.rounds import Rounds
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.state import merging

TURNS = int(os.environ.get("STANDING_TURNS", "3"))
SEED = int(os.environ.get("STANDING_SEED", "20261128"))
SLOTS = {"work": 8, "later": 4, "still": 2}
FAR_MS, DAY_MS = 3_600_000, 86_400_000
OF_THE_RUN = ("at_ms", "seen", "last_ms")


@pytest.fixture
def inputs(client: RMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    monkeypatch.setattr(rounds, "WHOLE_EVERY_S", 3_600.0)  # on a busy machine a turn may take longer than the pause
    monkeypatch.setattr(merging, "FOLDERS_MOST", 2)  # and the two newest folders of the state become one
    monkeypatch.setattr(merging, "LARGER", 0)
    client.define(Topic("work", TopicKind.PRIORITY, slots=SLOTS["work"], journal=Journal.FULL))
    client.define(Topic("later", TopicKind.FIXED_TIME, slots=SLOTS["later"], journal=Journal.EVENTS))
    client.define(Topic("still", TopicKind.PRIORITY, slots=SLOTS["still"], journal=Journal.FULL))
    due = int(time.time() * 1000) + FAR_MS
    client.send_many("later", [FixedTimeMessage("x", due_ms=due + i, key=f"l{i}") for i in range(30)])
    for topic in ("work", "still"):
        client.send_many(topic, [PriorityMessage("y", priority=100 + i, key=f"m{i}") for i in range(40)])
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
    # Nothing becomes late between the two runs that are compared.
    return Inputs(options, f"{tmp_path}/archive", f"{tmp_path}/reports", stuck_ms=DAY_MS, overdue_ms=DAY_MS)


def found(inputs: Inputs, summary: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Findings, without what is of one run alone."""
    rows = pq.read_table(f"{inputs.reports}/{summary['run']}/findings").to_pylist()  # type: ignore[no-untyped-call]
    said = [{key: each for key, each in json.loads(row["evidence"]).items() if key not in OF_THE_RUN} for row in rows]
    # What the two ledgers of a slot say differs in its time.
    for each in said:
        if "ledger" in each:
            each["ledger"] = {key: value for key, value in json.loads(each["ledger"]).items() if key != "now_ms"}
    names = ("kind", "topic", "slot", "id", "repair")
    return sorted(
        (str([row[name] for name in names]), json.dumps(each, sort_keys=True))
        for row, each in zip(rows, said, strict=True)
    )


def one_of_everything(spark: Any, inputs: Inputs) -> dict[str, Any]:
    """A report from scratch; the closing state stays that of the rounds."""
    state, aside = Path(str(inputs.archive)) / "state", Path(f"{inputs.reports}-state")
    shutil.copytree(state, aside)
    summary = reconcile(spark, replace(inputs, reports=f"{inputs.reports}-whole", from_scratch=True))
    shutil.rmtree(state)
    aside.rename(state)
    return summary


def moves(client: RMQ, random: Random, turn: int) -> list[str]:
    """Something that applications do, or that somebody does by hand to one slot."""

    def queue(topic: str, name: str) -> tuple[str, list[bytes]]:
        slot = random.randrange(SLOTS[topic])
        key = getattr(client.keyspace.slot(topic, slot), name)
        return key, client.connection.run([("ZRANGE", key, 0, -1)])[0]

    def raw(*command: Any) -> None:
        client.connection.run([command])

    def by_hand(topic: str, name: str) -> None:
        key, ids = queue(topic, name)
        if ids:
            raw("ZREM", key, random.choice(ids))

    def astray() -> None:
        (key, ids), (other, _) = queue("work", "store"), queue("work", "store")
        if ids and key != other:
            raw("ZADD", other, 5_000, ids[0])
            raw("ZREM", key, ids[0])

    def worked() -> None:
        taken = client.take("work", 5)
        client.ack(taken[:2])
        client.nack(taken[2:3], error="Broken")
        client.reject(taken[3:4])

    def miscounted() -> None:
        raw("HINCRBY", client.keyspace.slot("still", random.randrange(2)).stats, "acked", 1)

    due = int(time.time() * 1000) + FAR_MS
    acts: dict[str, Callable[[], Any]] = {
        "send": lambda: client.send("work", PriorityMessage(f"n{turn}-{random.random()}", priority=50)),
        "merge": lambda: client.send("work", PriorityMessage("z", priority=200, key=f"m{random.randrange(40)}")),
        "time": lambda: client.send("later", FixedTimeMessage("x", due_ms=due, key=f"l{random.randrange(60)}")),
        "work": worked,
        "lose": lambda: by_hand(random.choice([*SLOTS]), "store"),
        "lose in flight": lambda: by_hand("work", "prepare"),
        "add": lambda: raw("ZADD", queue("still", "store")[0], 7, f"strange{turn}"),
        "astray": astray,
        "count": miscounted,
        "empty": lambda: raw(
            "HDEL", client.keyspace.slot("work", random.randrange(8)).body, f"m{random.randrange(40)}"
        ),
        "pause": lambda: (Control(client).pause("later"), Control(client).resume("later")),
    }
    names = random.sample(sorted(acts), random.randint(1, 3))
    for name in names:
        acts[name]()
    return names


def test_what_moved_says_what_everything_says(spark: Any, client: RMQ, inputs: Inputs) -> None:
    random, several, fewer = Random(SEED), Rounds(spark), 0
    assert inputs.archive
    archive(spark, inputs.options, inputs.archive)
    several.reconcile(inputs)
    for turn in range(TURNS):
        names = moves(client, random, turn)
        if random.random() < 0.8:  # else what is new is in the journals alone
            archive(spark, inputs.options, inputs.archive)
        if random.random() < 0.3:  # what comes between the archive and the look is closed by the next round
            names += moves(client, random, turn)
        summary = several.reconcile_news(inputs)
        if summary is not None:
            slots = summary["read"].get("slots", {"compared": 14, "of": 14})
            fewer += slots["compared"] < slots["of"]
            whole = one_of_everything(spark, inputs)
            assert found(inputs, summary) == found(replace(inputs, reports=f"{inputs.reports}-whole"), whole), names
            assert summary["counts"] == whole["counts"]
    assert fewer >= TURNS / 2


def test_where_what_stood_is_not_known_everything_is_compared(spark: Any, client: RMQ, inputs: Inputs) -> None:
    several = Rounds(spark)
    assert inputs.archive
    archive(spark, inputs.options, inputs.archive)
    several.reconcile(inputs)
    client.send("work", PriorityMessage("new", priority=50))
    archive(spark, inputs.options, inputs.archive)
    few = several.reconcile(inputs)
    assert few["read"]["slots"] == {"compared": 1, "of": 14} and few["findings"] == 0
    # In a slot that stands, size kept; and the closing state is gone, by which the others would be known.
    key = client.keyspace.slot("still", 0).store
    ((first, *_),) = client.connection.run([("ZRANGE", key, 0, 0)])
    client.connection.run([("ZADD", key, "XX", 77_000_000, first)])
    shutil.rmtree(Path(inputs.archive) / "state")
    client.send("work", PriorityMessage("newer", priority=50))
    archive(spark, inputs.options, inputs.archive)
    whole = several.reconcile(inputs)
    assert "slots" not in whole["read"] and whole["counts"] == {"altered": 1}
    # What was found is looked at again, also where nothing moves.
    client.send("later", FixedTimeMessage("x", due_ms=int(time.time() * 1000) + FAR_MS))
    archive(spark, inputs.options, inputs.archive)
    again = several.reconcile(inputs)
    assert again["read"]["slots"] == {"compared": 2, "of": 14} and again["changes"]["altered"]["stayed"] == 1
