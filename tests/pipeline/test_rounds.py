"""Reconciliations in one session: what did not move is not looked at again, and whatever moves is found at once."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, Control, FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError
from rmq_core.model.topic import Journal
from rmq_core.pipeline.__main__ import main
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.look import look
from rmq_core.pipeline.jobs.reconcile import Inputs
from rmq_core.pipeline.program import continuous, rounds, serving
from rmq_core.pipeline.program.rounds import Rounds
from rmq_core.pipeline.sources.options import SourceOptions
from tests.support.proxy import TcpProxy


@pytest.fixture
def inputs(client: RMQ, tmp_path: Path) -> Inputs:
    client.define(Topic("work", TopicKind.PRIORITY, slots=2, journal=Journal.FULL, visibility_timeout_ms=7_000))
    client.send_many("work", [PriorityMessage(f"m{i}", priority=100) for i in range(10)])
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 8, 1_000)
    return Inputs(options, str(tmp_path / "archive"), str(tmp_path / "reports"))


def stores(client: RMQ) -> list[str]:
    return [client.keyspace.slot("work", slot).store for slot in range(2)]


def store(client: RMQ) -> str:
    """Of a slot in which something waits."""
    keys = stores(client)
    return next(key for key in keys if client.connection.run([("ZCARD", key)])[0])


def test_a_round_in_which_nothing_moved_repeats_the_last_report(
    spark: Any, client: RMQ, inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert inputs.archive
    archive(spark, inputs.options, inputs.archive)
    several = Rounds(spark)
    key = store(client)
    ((lost, *_),) = client.connection.run([("ZRANGE", key, 0, 0)])
    client.connection.run([("ZREM", key, lost)])
    first = several.reconcile(replace(inputs, run="first"))
    assert first["counts"]["lost"] == 1 and "same_as" not in first
    assert several.reconcile_news(inputs) is None
    again = several.reconcile(replace(inputs, run="again"))
    written = json.loads((Path(inputs.reports) / "again" / "summary.json").read_text())
    assert again == written and (again["same_as"], again["counts"]) == ("first", first["counts"])
    assert again["read"]["slots"] == {"compared": 0, "of": 2}, "whatever the one before it compared"
    assert again["read"]["events"] == 0 and again["changes"]["lost"] == {"appeared": 0, "stayed": 1, "gone": 0}
    assert sorted(path.name for path in (Path(inputs.reports) / "again").iterdir()) == [
        "findings",
        "summary.json",
        "topics",
    ]
    # A value that was changed by hand in a slot that stands still is found when everything is compared.
    client.connection.run(
        [("ZADD", store(client), "XX", 7, client.connection.run([("ZRANGE", store(client), 0, 0)])[0][0])]
    )
    assert several.reconcile_news(inputs) is None
    asked = several.reconcile_news(replace(inputs, options=replace(inputs.options, topics=("work",)), anew=True))
    assert asked and asked["counts"]["altered"] == 1
    after = several.reconcile_news(inputs)
    assert after and after["counts"]["altered"] == 1, "what somebody was told a moment ago is not taken back"
    assert several.reconcile_news(inputs) is None
    monkeypatch.setattr(rounds, "WHOLE_EVERY_S", 0.0)
    monkeypatch.setattr(rounds, "WHOLE_SHARE", 0)
    whole = several.reconcile_news(inputs)
    assert whole and whole["counts"]["altered"] == 1 and whole["changes"]["altered"]["stayed"] == 1


def test_a_look_tells_what_moves_and_when_something_will_be_late(client: RMQ, inputs: Inputs) -> None:
    def seen() -> Any:
        return look(inputs.options, 1_000, 60_000)

    before = seen()
    assert seen().is_as(before)
    key = store(client)
    changes: list[Callable[[], Any]] = [
        lambda: client.connection.run([("ZADD", key, 5_000, "by hand")]),
        lambda: client.send("work", PriorityMessage("sent", priority=50)),
        lambda: Control(client).pause("work"),
        lambda: Control(client).resume("work"),
        lambda: client.take("work", 1),
    ]
    for change in changes:
        change()
        after = seen()
        assert not after.is_as(before)
        before = after
    ((seconds, _),) = client.connection.run([("TIME",)])
    assert abs(before.next_ms - (int(seconds) * 1000 + 7_000 + 1_000)) < 2_000, "a delivery that will be stuck"
    (taken,) = (slot for slot, late_ms in before.late_ms.items() if late_ms == before.next_ms)
    assert replace(before, at_ms=before.next_ms).moved(before) == {taken}
    assert not replace(seen(), at_ms=before.next_ms).is_as(before)
    client.define(Topic("later", TopicKind.FIXED_TIME, slots=1))
    now_ms = int(time.time() * 1000)
    for at_ms in (now_ms - 100_000, now_ms - 58_000, now_ms):  # the first of them is overdue already
        client.send("later", FixedTimeMessage(str(at_ms), due_ms=at_ms), allow_past=True)
    assert seen().next_ms == now_ms - 58_000 + 60_000


def test_a_look_sees_every_setting_of_a_group_and_scores_that_are_no_time(client: RMQ, inputs: Inputs) -> None:
    client.define(Topic("events", TopicKind.STREAM, slots=2, journal=Journal.FULL))
    client.define_group("events", "mail")
    before = look(inputs.options, 1_000, 60_000)
    control = Control(client)
    changes: list[Callable[[], Any]] = [
        lambda: control.pause("events@mail"),
        lambda: control.resume("events@mail"),
        lambda: control.change_group("events@mail", visibility_timeout_ms=9_000),
    ]
    for change in changes:
        change()
        after = look(inputs.options, 1_000, 60_000)
        assert after.moved(before) == {("events@mail", 0), ("events@mail", 1)}
        before = after
    client.define(Topic("later", TopicKind.FIXED_TIME, slots=1))
    client.send("later", FixedTimeMessage("x", due_ms=int(time.time() * 1000) + 60_000))
    client.connection.run([("ZADD", client.keyspace.slot("later", 0).store, "XX", "+inf", "x")])
    assert look(inputs.options, 1_000, 60_000).late_ms["later", 0] >= 2**62


def test_a_look_sees_that_a_record_beside_the_queues_is_gone(client: RMQ, inputs: Inputs) -> None:
    (taken,) = client.take("work", 1)
    client.reject([taken])
    before = look(inputs.options, 1_000, 60_000)
    keys = [client.keyspace.slot("work", slot) for slot in range(2)]
    gone = client.connection.run([("HDEL", each.dead_record, taken.raw_id) for each in keys])
    assert look(inputs.options, 1_000, 60_000).moved(before) == {("work", gone.index(1))}
    client.connection.run([("SET", keys[0].replaced, "no hash")])
    with pytest.raises(PipelineError, match="remove it"):
        look(inputs.options, 1_000, 60_000)
    client.connection.run([("DEL", keys[0].replaced)])


def test_it_goes_on_when_redis_was_away(
    spark: Any,
    client: RMQ,
    inputs: Inputs,
    redis_server: EmbeddedRedis,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told: list[dict[str, Any]] = []
    with TcpProxy(redis_server.port) as proxy:
        options = replace(inputs.options, url=proxy.url(client.target.url), retry_for_ms=200)

        def between(turn: int) -> None:
            if turn == 0:
                proxy.refuse()
            elif turn == 1:
                assert "it goes on" in capsys.readouterr().err and len(told) == 1
                proxy.accept()
                key = store(client)
                client.connection.run([("ZREM", key, client.connection.run([("ZRANGE", key, 0, 0)])[0][0])])
                client.send("work", PriorityMessage("new", priority=50))
            elif turn == 2:
                assert len(told) == 2 and told[-1]["counts"] == {"lost": 1}
                raise KeyboardInterrupt

        turns = count()
        monkeypatch.setattr(continuous, "rest", lambda _: between(next(turns)))
        with pytest.raises(KeyboardInterrupt):
            continuous.again_and_again(spark, replace(inputs, options=options), 0, told.append)
    kept = [path.name for path in Path(inputs.reports).iterdir()]
    assert all(name.endswith("-round") for name in kept)
    assert inputs.archive and Archive(spark, inputs.archive).last_committed() == 1


def test_a_program_does_run_after_run_in_one_session(
    spark: Any, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Session:
        """The tests' own, which is not to be stopped."""

        def __getattr__(self, name: str) -> Any:
            return getattr(spark, name) if name != "stop" else lambda: stopped.append(name)

    stopped: list[str] = []
    started: list[Any] = []
    monkeypatch.setattr(serving, "open_session", lambda *_, **__: started.append(1) or Session())
    common = ["--url", inputs.options.url, "--namespace", inputs.options.namespace, "--progress", "json"]
    archived = ["--archive", str(inputs.archive), *common]
    reported = ["reconcile", "--reports", inputs.reports, *archived, "--run"]
    asked = [["archive", *archived], [*reported, "one"], ["restore", *common], [*reported, "two"]]
    asked.append([*reported, "three", "--anew"])
    requests = [json.dumps({"arguments": each, "log": str(tmp_path / f"log{at}")}) for at, each in enumerate(asked)]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in requests)))
    assert main(["serve"]) == 0
    assert (started, stopped) == ([1], ["stop"])
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["ended"] for each in said if "ended" in each] == [0, 0, 2, 0, 0]
    assert "--archive is missing" in (tmp_path / "log2").read_text()
    ends = [at for at, each in enumerate(said) if "ended" in each]
    stages = [{each.get("stage") for each in said[first:last]} for first, last in pairwise([0, *ends])]
    assert {"start", "archive"} <= stages[0] and {"look", "snapshot", "report"} <= stages[1]
    assert stages[3] - {None} == {"look"}, "nothing has moved"
    ended = {
        each["stage"]: each for each in said[ends[0] : ends[1]] if "stage" in each and each["done"] == each["total"]
    }
    assert ended["snapshot"]["rows"] >= 10 and ended["journals"]["rows"] == 0, "which is archived"
    assert ended["replay"]["read_bytes"] > 0 and ended["replay"]["shuffled_bytes"] >= 0
    assert json.loads((Path(inputs.reports) / "two" / "summary.json").read_text())["same_as"] == "one"
    assert {"look", "snapshot", "report"} <= stages[4], "but somebody asks"
    assert "same_as" not in json.loads((Path(inputs.reports) / "three" / "summary.json").read_text())
