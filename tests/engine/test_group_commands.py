"""The command line's way with consumer groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rmq_core import RMQ, Control, Topic
from rmq_core.cli.main import main
from rmq_core.embedded.redis import EmbeddedRedis
from tests.engine.ledgers import assert_ledger_balances

Run = Callable[..., Any]


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    """Ten entries."""
    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("events", "stream", slots=2, max_retries=0))
        client.send_many("events", [str(n) for n in range(10)])
        yield client
        with redis_server.client() as raw:
            assert_ledger_balances(raw, namespace)
        Control(client).delete_topic("events", force=True)


@pytest.fixture
def run(redis_server: EmbeddedRedis, namespace: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: str, code: int = 0) -> Any:
        capsys.readouterr()
        assert main([*arguments, "--url", redis_server.url, "--namespace", namespace, "--json"]) == code
        output = capsys.readouterr()
        return output.err if code else json.loads(output.out)

    return command


def test_groups_are_made_looked_at_and_deleted(rmq: RMQ, run: Run) -> None:
    assert run("groups", "events") == []
    (made,) = run("groups", "events", "statistics", "--start", "start")
    assert (made["group"], made["lag"], made["dead"], made["missed"]) == ("events@statistics", 10, 0, 0)
    run("groups", "events", "cache", "--start", "end", "--not-durable", "--acks", "none")
    assert [(each["group"], each["lag"]) for each in run("groups", "events")] == [
        ("events@cache", 0),
        ("events@statistics", 10),
    ]
    taken = run("take", "events@statistics", "--max", "3")
    assert len(taken) == 3
    rmq.reject(rmq.take("events@statistics"))
    (dead,) = run("dead", "events@statistics")
    assert "has 1 entries that are unfinished or dead" in run("groups", "events", "statistics", "--delete", code=1)
    assert run("requeue", "events@statistics", dead["id"]) == {"requeued": 1, "not_found": 0}
    assert run("groups", "events", "statistics", "--delete", "--force") == {"deleted": 1}
    assert "no group 'statistics'" in run("groups", "events", "statistics", code=1)
    assert "need a GROUP" in run("groups", "events", "--start", "end", code=2)


def test_a_position_is_planned_and_set(rmq: RMQ, run: Run) -> None:
    run("groups", "events", "statistics", "--start", "end")
    plan = run("position", "events@statistics", "0", "--dry-run")
    assert [each["lag_before"] for each in plan] == [0, 0]
    assert sum(each["lag"] for each in plan) == 10
    assert run("groups", "events")[0]["lag"] == 0
    assert run("position", "events@statistics", "start") == [each | {"behind": "0-0"} for each in plan]
    (moved,) = run("position", "events@statistics", "end", "--slot", "1")
    assert (moved["slot"], moved["lag"], moved["lag_before"]) == (1, 0, plan[1]["lag"])
    assert "must be 'start', 'end'" in run("position", "events@statistics", "middle", code=2)
    assert "no group 'nobody'" in run("position", "events@nobody", "end", code=1)


def test_members_are_listed_and_what_one_has_is_claimed(rmq: RMQ, run: Run) -> None:
    rmq.define_group("events", "statistics")
    rmq.take("events@statistics", 3, member="anna")
    (anna,) = run("members", "events@statistics")
    assert (anna["name"], anna["held"], anna["taken"], anna["alive"]) == ("anna", 3, 3, None)
    planned = run("claim", "events@statistics", "anna", "--dry-run")
    assert sum(each["entries"] for each in planned) == 3
    assert run("claim", "events@statistics", "anna") == planned
    assert run("claim", "events@statistics", "anna") == []
    assert run("members", "events@statistics")[0]["held"] == 0


def test_a_group_is_paused_for_a_time_and_resumed(rmq: RMQ, run: Run) -> None:
    rmq.define_group("events", "statistics")
    assert run("pause", "events@statistics", "--for-ms", "3600000")["until_ms"] > 0
    assert run("groups", "events")[0]["paused"]
    assert run("stuck", "events@statistics", "--for-ms", "100")["course"] == "paused"
    assert "topic" in run("pause", "events", "--for-ms", "1000", code=1)
    assert run("pause", "events@statistics", "--for-ms", "1", "--until-ms", "1", code=2)
    run("resume", "events@statistics")
    assert not run("groups", "events")[0]["paused"]


def test_a_group_that_nobody_takes_from_is_stuck_and_one_that_read_all_is_not(rmq: RMQ, run: Run) -> None:
    rmq.define_group("events", "statistics")
    assert run("stuck", "events@statistics", "--for-ms", "200")["course"] == "stuck"
    rmq.take("events@statistics", 10)
    assert run("stuck", "events@statistics", "--for-ms", "200")["course"] == "keeping_up"
