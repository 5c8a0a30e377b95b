"""The command line: what it prints for people, programs and pipes, and how it says no."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rmq_core import RMQ, Control, Inspector, PriorityMessage, RangeMergeMessage, Topic, TopicKind
from rmq_core.cli import shell
from rmq_core.cli.main import ENGINE, main
from rmq_core.cli.shell import FIRST_MS, Shell
from rmq_core.embedded.ports import free_port
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.transport import sync
from rmq_core.transport.retry import RETRY_FOR_MS
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
COMMANDS = [name for section in ENGINE.values() for name in section]
ESCAPE = "\x1b"


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[RMQ]:
    monkeypatch.setenv("RMQ_URL", redis_server.url)
    monkeypatch.setenv("RMQ_NAMESPACE", namespace)
    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("t", TopicKind.PRIORITY, slots=4, max_retries=0))
        yield client
        Control(client).delete_topic("t", force=True)


def at_terminal(*arguments: str, **environ: str) -> str:
    """What somebody at a terminal sees, control characters included."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "rmq_core", *arguments]
    environment = {"TERM": "xterm", **os.environ, **environ}
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=ROOT):
        os.close(slave)
        seen = b""
        try:
            while some := os.read(master, 65_536):
                seen += some
        except OSError:  # the other end is closed
            pass
    os.close(master)
    return seen.decode()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    output = capsys.readouterr().out
    assert output.startswith(f"Usage: python -m rmq_core {name} ")
    assert "--url" in output and ("--json" in output) == (name not in {"worker", "forward"})
    assert re.search(r"^  [A-Z].+\.$", output, re.M), "its first sentence"


def test_the_help_names_every_command_in_its_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    output = capsys.readouterr().out
    assert all(re.search(rf"^  {name}\s+[A-Z]", output, re.M) for name in COMMANDS)
    assert all(f"{title}:" in output for title in ENGINE)
    assert main(["requeu"]) == 2
    assert "there is no command 'requeu'; did you mean requeue" in capsys.readouterr().err


def test_what_is_taken_is_printed_and_then_done(rmq: RMQ, capsys: pytest.CaptureFixture[str]) -> None:
    rmq.send_many("t", [PriorityMessage(f"m{n}", 20 + n) for n in range(3)])
    rmq.send("t", PriorityMessage(b"\xff\x00" * 50, 19, headers={"a": "b"}))
    assert main(["take", "t", "--max", "2"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [["m2"], ["m1"]]
    assert main(["take", "t", "--json", "--then", "release"]) == 0
    (released,) = json.loads(capsys.readouterr().out)
    assert (released["id"], released["content"], released["attempt"]) == ("m0", "m0", 1)
    assert main(["take", "t", "--max", "9", "--json", "--then", "leave"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first["id"] == "m0" and first["attempt"] == 1, "released, and not counted"
    assert second["content_base64"] and second["headers"] == {"a": "b"}
    (sample,) = Inspector(rmq).sample(["t"])
    assert (sample.counters.acked, sample.prepare, sample.backlog) == (2, 2, 0)
    assert main(["take", "t"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["take", "t", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_what_follows_and_what_is_outdated_is_said(rmq: RMQ, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "v", "--kind", "priority", "--slots", "1", "--versions-for-ms", "60000"]) == 0
    follow = json.dumps({"topic": "t", "content": "next", "priority": 20})
    assert main(["send", "v", "x", "--priority", "20", "--key", "k", "--version", "5", "--if-done", follow]) == 0
    rmq.ack(rmq.take("v"))
    assert [each.text for each in rmq.take("t")] == ["next"]
    assert main(["send", "v", "x", "--priority", "20", "--key", "k", "--version", "4"]) == 0
    assert "not accepted: version 5 has been handed out" in capsys.readouterr().out
    Control(rmq).delete_topic("v", force=True)


def test_what_could_not_be_printed_is_not_done(rmq: RMQ) -> None:
    rmq.send("t", PriorityMessage("m", 20))
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "rmq_core", "take", "t"]
        ended = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1 and ended.stderr.startswith("rmq_core: [Errno 28] No space left")
    (sample,) = Inspector(rmq).sample(["t"])
    assert (sample.counters.acked, sample.prepare) == (0, 1)


def test_what_is_settled_too_late_is_said(rmq: RMQ) -> None:
    """Whoever reads slowly keeps it waiting, for longer than the pipe holds."""
    rmq.define(Topic("slow", TopicKind.PRIORITY, slots=1, visibility_timeout_ms=100))
    for number in range(3):
        rmq.send("slow", "x" * 99_000 + str(number), priority=20)
    command = [sys.executable, "-m", "rmq_core", "take", "slow", "--max", "3"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as taking:
        wait_until(lambda: Inspector(rmq).sample(["slow"])[0].counters.taken >= 3, what="it is taken")
        wait_until(lambda: rmq.take("slow", 3), what="it times out")
        printed, said = taking.communicate()
    assert (taking.returncode, printed.count("\n")) == (1, 3)
    assert said.startswith("rmq_core: 3 of 3 settled too late")
    Control(rmq).delete_topic("slow", force=True)


def test_hostile_text_reaches_no_terminal(rmq: RMQ, capsys: pytest.CaptureFixture[str]) -> None:
    rmq.send("t", PriorityMessage(f"{ESCAPE}[31mred", 20, key=f"{ESCAPE}[2J"))
    (delivery,) = rmq.take("t")
    rmq.nack(delivery, error=f"Bad{ESCAPE}[0m", message=f"{ESCAPE}]0;title\x07")
    for command in (["dead", "t"], ["clusters", "t"], ["peek", "t", "--state", "dead"]):
        assert main(command) == 0
        output = capsys.readouterr().out
        assert ESCAPE not in output and "Bad" in output
    assert main(["requeue", "t", "--all"]) == 0
    assert main(["take", "t"]) == 0
    assert ESCAPE not in capsys.readouterr().out


def test_pipes_get_no_control_characters_and_terminals_a_bar(rmq: RMQ) -> None:
    rmq.send_many("t", [PriorityMessage(f"m{n}", 20) for n in range(3)])
    seen = at_terminal("cancel", "t", "--all", "--state", "ready")
    assert "100%" in seen and "cancelled 3, not found 0" in seen
    assert "topic" in at_terminal("topics"), "columns have heads"
    assert f"{ESCAPE}[1m" in at_terminal("topics")
    assert f"{ESCAPE}[1m" not in at_terminal("topics", NO_COLOR="1")
    for command in (("restore", "t", "--all"), ("topics",), ("stats",), ("peek", "t")):
        piped = subprocess.run(
            [sys.executable, "-m", "rmq_core", *command], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert piped.stderr == "" and all(each.isprintable() or each == "\n" for each in piped.stdout)


def test_a_dry_run_never_acts(rmq: RMQ, capsys: pytest.CaptureFixture[str]) -> None:
    rmq.send("t", PriorityMessage("m", 20))
    assert main(["cancel", "t", "m", "--dry-run"]) == 2
    assert "--dry-run says" in capsys.readouterr().err
    assert main(["cancel", "t", "--all", "--state", "ready", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("cancel would take 1 of what is ready\nit takes about 0 ms, ")
    assert Inspector(rmq).sample(["t"])[0].ready == 1


def test_a_journal_that_is_off_says_so(rmq: RMQ, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journal", "t"]) == 0
    output = capsys.readouterr()
    assert output.out == "" and "the journal of topic 't' is off" in output.err


def test_what_waits_is_moved(rmq: RMQ, capsys: pytest.CaptureFixture[str]) -> None:
    rmq.send_many("t", [PriorityMessage(f"m{n}", 20) for n in range(3)])
    assert main(["reschedule", "t", "m0", "--priority", "40", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"rescheduled": 1, "not_found": 0}
    assert main(["reschedule", "t", "--all", "--state", "ready", "--priority", "40"]) == 0
    assert capsys.readouterr().out == "rescheduled 2, not found 0\n"
    assert main(["run-now", "t", "m0", "nobody", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"made_ready": 1, "not_found": 1}
    assert main(["reschedule", "t", "m0"]) == 2
    assert "--due-ms, --in-ms or --priority" in capsys.readouterr().err
    assert main(["reschedule", "t", "m0", "--in-ms", "60000"]) == 2
    assert "priority" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["take", "nowhere"], 1, "nowhere"),
        (["send", "t", "x", "--range-ms", "5"], 1, "priority"),
        (["send", "t", "x"], 2, "say once when it is delivered: --priority on a priority topic"),
        (["send", "t", "x", "--priority", "20", "--in-ms", "5"], 2, "say once"),
        (["send", "t", "x", "--priority", "20", "--if-done", "{"], 2, "--if-done is a JSON object"),
        (["send", "t", "x", "--priority", "20", "--if-dead", '{"if_dead":' * 5_000], 2, "--if-dead is a JSON object"),
        (["send", "t", "x", "--priority", "20", "--if-dead", "{}"], 2, "a follow-up is an object"),
        (["journal", "nowhere"], 1, "nowhere"),
        (["take", "t", "--max", "0"], 2, "--max"),
        (["topics", "new"], 2, "topics NAME needs --kind"),
        (["topics", "--kind", "priority"], 2, "topics --kind needs a NAME"),
        (["topics", "new", "--kind", "priority", "--slots", "3"], 2, "slots"),
        (["stats", "nowhere"], 1, "nowhere"),
        (["stats", "--url", "http://x"], 2, "http"),
        (["worker", "no.such.module"], 2, "no.such.module"),
        (["peek", "t", "--state", "odd"], 2, "--state"),
        (["stats", "--nonsense"], 2, "--nonsense"),
        ([], 2, "Usage:"),
    ],
)
def test_what_is_refused_is_said(
    rmq: RMQ, arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    output = capsys.readouterr()
    assert words in output.err and output.out == ""


def test_a_server_that_is_away_is_said_in_a_sentence() -> None:
    command = [sys.executable, "-m", "rmq_core", "stats", "--url", f"redis://127.0.0.1:{free_port()}/0"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 1
    assert ended.stdout == "" and ended.stderr.startswith("rmq_core: ") and ended.stderr.count("\n") == 1


THROWN_AWAY = """
import sys
from rmq_core.cli import journal, main

class Late:
    def __del__(self):
        raise KeyboardInterrupt

def rest(seconds, wait=journal.time.sleep):
    Late()
    wait(600)

journal.time.sleep = rest
sys.exit(main.main())
"""


def test_ctrl_c_is_not_lost_while_python_throws_something_away(rmq: RMQ) -> None:
    rmq.define(Topic("j", TopicKind.RANGE_MERGE, slots=1, journal="events"))
    command = [sys.executable, "-c", THROWN_AWAY, "journal", "j", "--follow"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    Control(rmq).delete_topic("j", force=True)
    assert (ended.returncode, ended.stderr.strip()) == (130, "")


@pytest.mark.parametrize("away", ["redis://127.0.0.1:{}", "sentinel://127.0.0.1:{}/m", "cluster://127.0.0.1:{}"])
def test_only_a_first_connection_is_given_up_early(
    rmq: RMQ, away: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    budgets = []

    def once(budget_s: float) -> Iterator[float]:
        budgets.append(budget_s)
        return iter(())

    monkeypatch.setattr(sync, "pauses", once)
    assert main(["stats", "--url", away.format(free_port())]) == 1
    assert set(budgets) == {FIRST_MS / 1000}
    assert len(capsys.readouterr().err) < 300
    with Shell(rmq.target.url, "rmq", as_json=False).client() as client:
        assert client.connection.retry_for_ms == RETRY_FOR_MS > FIRST_MS


def test_a_server_that_says_nothing_is_given_up_as_early(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shell, "FIRST_MS", 200)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        assert main(["stats", "--url", f"redis://127.0.0.1:{silent.getsockname()[1]}/0"]) == 1
        assert time.monotonic() - began < 4  # of each answer a client waits for 5 s
    assert "did not answer" in capsys.readouterr().err


def test_ctrl_c_ends_what_follows_and_what_waits(rmq: RMQ) -> None:
    rmq.define(Topic("j", TopicKind.RANGE_MERGE, slots=1, journal="events"))
    rmq.send("j", RangeMergeMessage("a", 1))
    for command in (["journal", "j", "--follow"], ["take", "t", "--wait-ms", "600000"]):
        with subprocess.Popen(
            [sys.executable, "-m", "rmq_core", *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as started:
            try:
                if command[0] == "journal":
                    assert started.stdout is not None and b"began" in started.stdout.readline()
                else:
                    with rmq.connection.client.client() as raw:
                        channel = rmq.keyspace.wake("t")
                        wait_until(lambda: dict(raw.pubsub_numsub(channel)).get(channel.encode()), what="it waits")  # noqa: B023
                started.send_signal(signal.SIGINT)
                _, output = started.communicate(timeout=60)
            finally:
                started.kill()
        assert started.returncode == 130
        assert b"Traceback" not in output
    Control(rmq).delete_topic("j", force=True)
