"""What listeners in processes of their own may do and break: whatever it is, it is of that call alone."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from rmq_core import Listener
from rmq_core.worker.portable_errors import made, portable
from tests.engine.worker import isolated_listeners as isolated
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until, wait_until_async


def apart(function: Callable[..., object], max_runtime_ms: int = 30_000) -> Listener:
    return Listener("work", function, isolation="process", max_runtime_ms=max_runtime_ms)  # type: ignore[call-overload, no-any-return]


def dead(bench: WorkerBench) -> dict[str, str | None]:
    return {row.preview.decode(): row.error for row in bench.inspector.messages("work", "dead").rows}


async def test_what_a_listener_forks_answers_for_nobody(bench: WorkerBench, tmp_path: Path) -> None:
    bench.topic(max_retries=0, slots=1)
    bench.send(f"fork {tmp_path / 'pid'}", "first", "second")
    async with bench.running(apart(isolated.fork), threads=1):
        await wait_until_async(lambda: bench.total("acked") + len(dead(bench)) == 3, what="the end of all")
        wait_until((tmp_path / "pid").exists, what="the forked process")
        wait_until(lambda: not alive(int((tmp_path / "pid").read_text())), what="its end")
    assert dead(bench) == {"first": "ValueError: no", "second": "ValueError: no"}


async def test_an_outcome_of_a_class_of_their_own_is_that_outcome(bench: WorkerBench) -> None:
    bench.topic(max_retries=3, backoff_ms=0)
    bench.send("retry", "reject", "release", "local")
    async with bench.running(apart(isolated.decide)):
        await wait_until_async(lambda: bench.total("released") == 1 and len(dead(bench)) == 2, what="the end of all")
        await wait_until_async(lambda: bench.total("retried") == 1, what="the retry")
    assert dead(bench) == {"reject": "Never: 1: no", "local": "Local: 3: no"}
    assert bench.total("taken") == 4


async def test_a_record_that_cannot_be_carried_fails_no_call(
    bench: WorkerBench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.topic(max_retries=0)
    bench.send("one")
    async with bench.running(apart(isolated.log_oddly)):
        await wait_until_async(lambda: bench.total("acked") == 1, what="the message")
    (record,) = (record for record in caplog.records if record.message == "about")
    assert vars(record)["error"] == "Odd('this and that')" and "lock" in vars(record)["lock"]


async def test_one_that_is_stopped_is_late_however_much_is_on_the_line(
    bench: WorkerBench, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    bench.topic(max_retries=0, slots=1)
    bench.send(f"pid {tmp_path / 'pid'}")
    async with bench.running(apart(isolated.stop, 1_000), threads=1):
        await wait_until_async(lambda: bench.total("acked") == 1, what="the first")
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGSTOP)
        bench.send("x" * 900_000)  # more than a pipe holds
        await wait_until_async(lambda: len(dead(bench)) == 1, what="the end of a call that nobody reads")
        bench.send("log")
        await wait_until_async(lambda: len(dead(bench)) == 2, what="the end of a call in the middle of its log")
    assert set(dead(bench).values()) == {"TimeoutError: killed after max_runtime_ms=1000"}


async def test_programs_that_a_listener_starts_hear_signals(bench: WorkerBench) -> None:
    bench.topic(max_retries=0)
    bench.send("one")
    async with bench.running(apart(isolated.terminate)):
        await wait_until_async(lambda: bench.total("acked") + len(dead(bench)) == 1, what="the message")
    assert not dead(bench)


def test_an_error_comes_over_as_what_it_is() -> None:
    class Unknown(ConnectionError):
        def __init__(self, host: str, port: int) -> None:
            super().__init__(f"{host}:{port}")
            self.port = port

    error = Unknown("host", 1)
    error.add_note("a note")
    back = made(portable(error)._replace(whole=b""))
    assert isinstance(back, ConnectionError) and type(back).__name__ == "Unknown"
    assert (str(back), vars(back)["port"], back.__notes__) == ("host:1", 1, ["a note"])
    back = made(portable(isolated.Odd("this", "that")))
    assert type(back) is isolated.Odd and str(back) == "this and that"
    assert made(portable(KeyError("k"))).args == ("k",)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
