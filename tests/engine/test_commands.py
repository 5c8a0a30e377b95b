"""The command line's way of acting on many messages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rmq_core import RMQ, Control, Inspector, MessageFilter, PriorityMessage, Topic, TopicKind
from rmq_core.cli.main import main
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.fingerprints import fingerprint
from tests.engine.ledgers import assert_ledger_balances

Run = Callable[..., Any]


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    """Five letters dead of a lost connection, one dead of something else, two that wait."""
    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("t", TopicKind.PRIORITY, slots=4, max_retries=0))
        for number in range(6):
            client.send("t", PriorityMessage(f"m{number}", 20))
            (delivery,) = client.take("t")
            client.nack(delivery, error="IOError" if number else "Other", message=f"no answer after {number} s")
        client.send_many("t", [PriorityMessage("waits", 20), PriorityMessage("waits too", 20)])
        yield client
        with redis_server.client() as raw:
            assert_ledger_balances(raw, namespace)
        Control(client).delete_topic("t", force=True)


@pytest.fixture
def run(rmq: RMQ, redis_server: EmbeddedRedis, namespace: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(name: str, *arguments: str, code: int = 0) -> Any:
        at = ["--url", redis_server.url, "--namespace", namespace, "--json"]
        assert main([name, "t", *arguments, *at]) == code
        output = capsys.readouterr()
        return output.err if code else json.loads(output.out)

    return command


def dead(rmq: RMQ) -> set[str]:
    return {row.id for row in Inspector(rmq).messages("t", "dead").rows}


def test_clusters_and_what_can_be_done_to_one(rmq: RMQ, run: Run) -> None:
    first, second = run("clusters")
    assert (first["count"], first["error"], second["error"]) == (5, "IOError", "Other")
    assert first["fingerprint"] == fingerprint("IOError", "no answer after 99 s")
    chosen = ("--fingerprint", first["fingerprint"])
    seen = run("drop", *chosen, "--dry-run")
    assert (seen["count"], seen["exact"], seen["cost"]["looks"], seen["cost"]["steps"]) == (5, True, 6, 1)
    assert seen["cost"]["redis_ms"] <= seen["cost"]["for_ms"] < 1_000
    assert len(dead(rmq)) == 6
    assert run("drop", *chosen) == {"dropped": 5, "not_found": 0}
    assert dead(rmq) == {"m0"}
    assert run("restore", "--error", "after 3") == {"restored": 1, "not_found": 0}
    assert dead(rmq) == {"m0", "m3"}
    assert run("restore", "m4", "--slot", "0", code=2).startswith(
        "rmq_core: restore takes ids, or --all or a filter, not both"
    )
    assert run("restore", "m4") == {"restored": 1, "not_found": 0}
    assert run("requeue", "--all") == {"requeued": 3, "not_found": 0}
    assert dead(rmq) == set()


def test_very_many_are_confirmed(rmq: RMQ, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rmq_core.cli.actions.CONFIRM_ABOVE", 5)
    refused = run("drop", "--all", code=1)
    assert "drop would take 6, it takes about" in refused and "Give --yes to do it" in refused
    assert len(dead(rmq)) == 6
    assert run("drop", "--all", "--yes") == {"dropped": 6, "not_found": 0}


def test_a_send_is_tried(run: Run) -> None:
    found = run("send", "tried", "--priority", "20", "--dry-run")
    assert (found["outcome"], found["reasons"][0]["text"]) == ("new", "It would be a new message with priority 20.")
    run("send", "tried", "--priority", "20")
    found = run("send", "tried", "--priority", "30", "--dry-run")
    assert [each["code"] for each in found["reasons"]][::2] == ["send_merges", "send_priority_moves"]


def test_who_causes_the_load(run: Run) -> None:
    assert run("tenants")["tenants"] == []
    for n in range(3):
        run("send", f"of-{n}", "--priority", "20", "--tenant", "globex" if n else "acme")
    found = run("tenants", "--limit", "1")
    assert [(each["tenant"], each["sent_share"]) for each in found["tenants"]] == [("globex", 0.6667)]


def test_waiting_messages_are_cancelled_by_text(rmq: RMQ, run: Run) -> None:
    assert run("cancel", "--state", "ready", "--text", "too") == {"cancelled": 1, "not_found": 0}
    assert run("cancel", "waits") == {"cancelled": 1, "not_found": 0}
    assert {row.id for row in Inspector(rmq).messages("t", "trash").rows} == {"waits", "waits too"}
    assert run("peek", "--state", "trash")[0]["was"] == "ready"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("requeue",), 2, "takes ids, or --all or a filter, one of them"),
        (("requeue", "m0", "--all"), 2, "takes ids, or --all or a filter, not both"),
        (("requeue", "--fingerprint", "xyz"), 2, "fingerprint: 'xyz' must be 16"),
        (("drop", "--slot", "4"), 2, "slot: 4 must be a whole number from 0 to 3"),
        (("cancel", "--since-ms", "5", "--until-ms", "4"), 2, "until_ms"),
    ],
)
def test_wrong_usage_is_said_and_changes_nothing(
    rmq: RMQ, run: Run, arguments: tuple[str, ...], code: int, words: str
) -> None:
    assert words in run(*arguments, code=code)
    assert len(dead(rmq)) == 6


def test_what_is_not_there_is_said(run: Run) -> None:
    assert run("requeue", "m0", "nowhere", code=1) == ""


@pytest.mark.parametrize(
    ("name", "words"), [("", "package.module"), ("..", "package.module"), ("json:JSONDecoder", "of type type")]
)
def test_what_names_no_listeners_is_said(capsys: pytest.CaptureFixture[str], name: str, words: str) -> None:
    assert main(["worker", name]) == 2
    assert words in capsys.readouterr().err


def test_nothing_is_taken_that_nobody_can_see(rmq: RMQ, redis_server: EmbeddedRedis, namespace: str) -> None:
    command = [sys.executable, "-m", "rmq_core", "take", "t", "--url", redis_server.url, "--namespace", namespace]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (
        1,
        "rmq_core: standard output is closed: send it to a file, or to /dev/null\n",
    )
    assert {row.id for row in Inspector(rmq).messages("t", "ready").rows} == {"waits", "waits too"}


def test_what_expires_first_is_counted_and_left(rmq: RMQ, run: Run) -> None:
    rmq.define(Topic("t", TopicKind.PRIORITY, slots=4, max_retries=0))
    rmq.send_many("t", [PriorityMessage(f"late-{n}", 30, expires_ms=3_600_000) for n in range(3)])
    Control(rmq).cancel("t", [f"late-{n}" for n in range(3)])
    for slot in range(4):
        make_late(rmq, slot)
    seen = run("restore", "--text", "late", "--dry-run")
    seen.pop("cost")
    assert seen == {"state": "trash", "count": 3, "exact": True, "expires_first": 3, "expires_looked_at": 3}
    assert run("restore", "--text", "late") == {"restored": 0, "not_found": 0, "expires_first": 3}
    assert Inspector(rmq).preview("t", MessageFilter("trash")).count == 3
    run("restore", "late-1", code=1)


def make_late(rmq: RMQ, slot: int) -> None:
    """What is in the trash of a slot, as if its time had passed."""
    client, key = rmq.connection.client, rmq.keyspace.slot("t", slot).trashed
    for raw, packed in client.hgetall(key).items():
        client.hset(key, raw, re.sub(rb"\x03e(\d+)", lambda at: b"\x03e" + b"1".zfill(len(at[1])), packed))
