"""Processes that listeners fork end by signals of their own, and no signal of theirs is the worker's."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("name", "result"), [("pool", 3), ("one", -signal.SIGTERM)])
def test_what_ends_a_process_of_a_listener_does_not_stop_its_worker(bench: WorkerBench, name: str, result: int) -> None:
    bench.topic(slots=1)
    texts = [str(number) for number in range(10)]
    bench.send(*texts)
    command = [sys.executable, "-m", "tests.engine.worker.pool_program", bench.url, bench.namespace, name]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        try:
            wait_until(lambda: bench.total("acked") == len(texts) or program.poll() is not None, what="all of it")
            assert program.poll() is None
            program.terminate()
            printed, _ = program.communicate(timeout=60)
        finally:
            program.kill()
    assert printed.splitlines() == [*(f"{text} {result}" for text in texts), "ended"]
    assert program.returncode == 0 and bench.total("taken") == len(texts)
