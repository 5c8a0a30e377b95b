"""Calls in processes of their own: killed when they take too long, and nobody else's trouble when they die."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rmq_core import Listener, TopicKind
from rmq_core.errors import ConfigurationError
from rmq_core.model.views import MessageRow
from tests.engine.worker import isolated_listeners as isolated
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until, wait_until_async


def apart(function: Callable[..., object] = isolated.act, **options: object) -> Listener:
    return Listener("work", function, isolation="process", **options)  # type: ignore[call-overload, no-any-return]


def dead(bench: WorkerBench) -> dict[str, MessageRow]:
    return {row.preview.decode(): row for row in bench.inspector.messages("work", "dead").rows}


async def test_what_a_listener_does_in_a_process_counts_as_in_a_thread(
    bench: WorkerBench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.topic(max_retries=0)
    fates = {
        "fine": None,
        "fail": "ValueError: no",
        "odd": "Odd: this and that",
        "leave": "SystemExit: enough",
        "reject": "Reject: never",
        "exit": "ListenerProcessDied: the process of tests.engine.worker.isolated_listeners.act ended by exit code 3"
        " while it was running",
        "retry": "Retry: later",
        "release": None,
        "lazy": "UnfinishedWork",
        "fine again": None,
    }
    bench.send(*fates)
    async with bench.running(apart(), name="ann"):
        await wait_until_async(lambda: bench.total("acked") == 2 and len(dead(bench)) == 7, what="the end of all")
    found = {word: row.error for word, row in dead(bench).items()}
    for word, error in fates.items():
        assert (found.get(word) or "").startswith(error or ""), word
        assert (word in found) is (error is not None)
    # What it logged was logged by the worker, and came from other processes: one until it died, and another one.
    words, pids = zip(
        *(message.split(" in ") for message in caplog.messages if " in " in message and message[-1].isdigit()),
        strict=True,
    )
    assert sorted(words) == sorted(word.split()[0] for word in fates) and str(os.getpid()) not in pids
    assert len(set(pids)) == 2
    (failed,) = bench.inspector.find("work", "fail")
    assert "isolated_listeners.py" in str(failed)


@pytest.mark.parametrize("word", ["hang", "spin"])
async def test_a_call_that_hangs_is_killed_and_its_neighbours_are_unharmed(bench: WorkerBench, word: str) -> None:
    bench.topic(max_retries=0, slots=4, visibility_timeout_ms=2_000)
    bench.send(word, *(f"fine {i}" for i in range(20)))
    async with bench.running(apart(max_runtime_ms=1_500), threads=2):
        await wait_until_async(lambda: dead(bench) and bench.total("acked") == 20, what="the end of all")
    (row,) = dead(bench).values()
    assert row.error == "TimeoutError: killed after max_runtime_ms=1500" and row.failures == 1
    assert bench.total("timed_out") == 0


async def test_a_batch_fails_as_one(bench: WorkerBench) -> None:
    bench.topic(max_retries=0)
    bench.send("fine", "fail", "fine 2")
    async with bench.running(apart(isolated.act_on_many, batch=3)):
        await wait_until_async(lambda: len(dead(bench)) + bench.total("acked") == 3, what="the end of all")
    assert "fail" in dead(bench)


async def test_groups_of_one_topic_do_not_share_processes(bench: WorkerBench) -> None:
    bench.topic(kind=TopicKind.STREAM, max_retries=0)
    for n in range(5):
        bench.rmq.send("work", f"entry {n}")
    for name in ("one", "two"):
        bench.rmq.define_group("work", name)
        assert left(bench, f"work@{name}") == 5
    one, two = apart(isolated.keep_to_one, group="one"), apart(isolated.keep_to_two, group="two")
    async with bench.running(one, two, threads=2):
        await wait_until_async(lambda: not left(bench, "work@one") + left(bench, "work@two"), what="all to end")
    assert [bench.inspector.messages(f"work@{name}", "dead").rows for name in ("one", "two")] == [(), ()]


def left(bench: WorkerBench, group: str) -> int:
    (sample,) = bench.inspector.sample([group])
    return (sample.lag or 0) + sample.backlog + sample.prepare


async def test_setup_runs_before_the_listener_is_loaded(bench: WorkerBench) -> None:
    bench.topic(max_retries=0)
    bench.send("one")
    setup = "tests.engine.worker.isolated_listeners:set_up"
    async with bench.running(apart(isolated.needs_setup), process_setup=setup):
        await wait_until_async(lambda: bench.total("acked") == 1, what="the message")


async def test_a_process_that_cannot_start_says_why(bench: WorkerBench) -> None:
    bench.topic(max_retries=0)
    bench.send("one")
    async with bench.running(apart(), process_setup="no_such_module:setup"):
        await wait_until_async(lambda: dead(bench), what="the death")
    assert "cannot be loaded in a process of its own: ModuleNotFoundError" in (dead(bench)["one"].error or "")


async def test_children_end_with_a_worker_that_does_not_wait(bench: WorkerBench, tmp_path: Path) -> None:
    bench.topic()
    bench.send(f"write {tmp_path / 'pid'}")
    worker = bench.worker(apart(), grace_ms=100)
    async with bench.running_this(worker):
        await wait_until_async((tmp_path / "pid").exists, what="the call")
    wait_until(lambda: not alive(tmp_path / "pid"), what="the child's end")
    assert bench.total("acked") == 0


@pytest.mark.parametrize("word", ["write", "spin"])
def test_children_end_with_a_worker_that_is_killed(bench: WorkerBench, tmp_path: Path, word: str) -> None:
    bench.topic()
    bench.send(f"{word} {tmp_path / 'pid'}")
    command = [sys.executable, "-m", "rmq_core", "worker", "tests.engine.worker.test_isolation:APART"]
    environ = os.environ | {"RMQ_URL": bench.url, "RMQ_NAMESPACE": bench.namespace}
    with subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until((tmp_path / "pid").exists, what="the call")
        finally:
            process.kill()
        wait_until(lambda: not alive(tmp_path / "pid"), what="the child's end")


def alive(path: Path) -> bool:
    try:
        os.kill(int(path.read_text()), 0)
    except ProcessLookupError:
        return False
    return True


def test_what_cannot_run_apart_is_refused() -> None:
    async def coroutine(delivery: object) -> None: ...

    for function, words in ((coroutine, "is a coroutine"), (lambda delivery: None, "cannot find it")):
        with pytest.raises(ConfigurationError, match=words):
            WorkerBench("redis://localhost:1", "none", None, None).worker(apart(function))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match='must be "thread" or "process"'):
        Listener("work", isolated.act, isolation="container")  # type: ignore[call-overload]


APART = apart()
