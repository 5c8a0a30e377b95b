"""`manage.py up`: comes up, heals, ends clean, keeps its data."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.config.environment import BASE_DIR
from rmq_core import Inspector, RangeMergeMessage, Topic, TopicKind, listener
from rmq_core.embedded.ports import free_port
from rmq_core.model.samples import TopicSample
from tests.console.stack import Stack
from tests.support.waiting import wait_until

LISTENERS = "tests.console.test_up:take_note"
NOTES = Topic("notes", TopicKind.RANGE_MERGE, slots=2, backoff_ms=0, visibility_timeout_ms=2_000)


@listener(NOTES)
def take_note(delivery: object) -> None:
    """The smallest listener there is; `up` hosts it in a worker process."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("up") / "data", RMQ_LISTENERS=LISTENERS) as stack:
        wait_until(lambda: "consumes notes" in stack.log, what="the worker has defined its topic")
        yield stack


def notes(stack: Stack) -> TopicSample:
    with stack.client() as client:
        return Inspector(client).sample(["notes"])[0]


def delivered(stack: Stack) -> int:
    return notes(stack).counters.acked


def send(stack: Stack, first: int, number: int) -> None:
    with stack.client() as client:
        client.send_many("notes", [RangeMergeMessage(f"note {n}", 1) for n in range(first, first + number)])


def test_everything_runs_and_messages_are_delivered(stack: Stack) -> None:
    commands = " ".join(stack.children().values())
    for part in ("valkey-server", "uvicorn", "console keeper", "console worker", "console jobs"):
        assert part in commands
    before = delivered(stack)
    send(stack, 0, 50)
    wait_until(lambda: delivered(stack) == before + 50, what="the worker has taken the notes")


def test_the_address_and_the_password_are_printed_and_kept(stack: Stack) -> None:
    password = (stack.folder / "admin_password").read_text().strip()
    wait_until(lambda: password in stack.log, what="the password is printed")
    assert f"ready: http://localhost:{stack.port}/" in stack.log
    for name in ("admin_password", "secret_key"):
        assert stat.S_IMODE((stack.folder / name).stat().st_mode) == 0o600


def test_kill_9_of_any_process_heals_and_loses_nothing(stack: Stack) -> None:
    before = delivered(stack)
    children = stack.children()
    (redis,) = [pid for pid, command in children.items() if "valkey-server" in command]
    send(stack, 1000, 50)
    for number, victims in enumerate(([redis], [pid for pid in children if pid != redis])):
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not set(victims) & set(stack.children()), what="they are gone")  # noqa: B023
        wait_until(lambda: len(stack.children()) == len(children), timeout_s=60, what="others have taken their place")
        send(stack, 2000 + 1000 * number, 50)
    wait_until(lambda: delivered(stack) == before + 150, timeout_s=60, what="all notes are delivered")
    sample = notes(stack)
    assert (sample.ledger_gap, sample.backlog, sample.dead) == (0, 0, 0)
    wait_until(stack.ready, timeout_s=60, what="everything answers again")


def test_a_second_one_in_the_folder_or_on_the_port_is_refused(stack: Stack, tmp_path: Path) -> None:
    def up(folder: Path, port: int) -> str:
        command = [sys.executable, str(BASE_DIR / "manage.py"), "up", "--port", str(port)]
        environ = {"PATH": os.environ["PATH"], "RMQ_DATA_DIR": str(folder)}
        ended = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)
        assert ended.returncode == 1
        assert "Traceback" not in ended.stderr
        return ended.stderr

    assert "already runs" in up(stack.folder, free_port())
    assert f":{stack.port}" in up(tmp_path, stack.port)


def test_ctrl_c_ends_it_clean_and_a_restart_has_its_data(stack: Stack) -> None:
    send(stack, 5000, 10)
    wait_until(lambda: delivered(stack) > 0, what="something is delivered")
    sent = notes(stack).counters.sent
    url, children = stack.redis_url, stack.children()
    assert stack.stop(signal.SIGINT) == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)
    assert stack.port_is_free()
    assert "was killed" not in stack.log.rsplit("stopping", 1)[1]
    stack.start()
    assert stack.redis_url == url
    assert notes(stack).counters.sent == sent
    password = (stack.folder / "admin_password").read_text().strip()
    wait_until(lambda: stack.log.count(password) == 2, what="it says again where to sign in")


def test_when_up_itself_is_killed_nothing_is_left(stack: Stack) -> None:
    children = stack.children()
    stack.stop(signal.SIGKILL)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children), what="all children are gone")
    stack.start()
    assert stack.stop(signal.SIGTERM) == 0
