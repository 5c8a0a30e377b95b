"""Jobs end with their job worker, also when it is killed: nobody would stop what they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from redis import Redis
from rq import Queue

from console.config.environment import BASE_DIR
from rmq_core.embedded.redis import EmbeddedRedis
from tests.support.waiting import wait_until


def state(pid: int) -> tuple[str, int]:
    """Of a process: its letter (Z: it has ended, and nobody has asked), and its parent."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return "Z", 0
    return fields[0], int(fields[1])


def child_of(pid: int) -> int | None:
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return next((number for number in numbers if state(number) != ("Z", 0) and state(number)[1] == pid), None)


def test_a_job_ends_with_its_killed_worker(tmp_path: Path) -> None:
    with EmbeddedRedis() as server, Redis.from_url(server.url) as client:
        environ = os.environ | {"RMQ_REDIS_URL": server.url, "RMQ_DATA_DIR": str(tmp_path)}
        environ["DJANGO_SETTINGS_MODULE"] = "console.config.settings"  # not those of these tests
        worker = subprocess.Popen([sys.executable, "manage.py", "jobs", "default", "-v0"], cwd=BASE_DIR, env=environ)
        try:
            Queue("rmq:default", connection=client).enqueue("time.sleep", 600)
            horse = wait_until(lambda: child_of(worker.pid), timeout_s=60, what="the job has begun")
        finally:
            worker.send_signal(signal.SIGKILL)
            worker.wait()
        wait_until(lambda: state(horse)[0] == "Z", what="the job has ended as well")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_runs_get_a_worker_on_demand_and_operations_do_not_wait_for_them(tmp_path: Path, number: int) -> None:
    with EmbeddedRedis() as server, Redis.from_url(server.url) as client:
        environ = os.environ | {"RMQ_REDIS_URL": server.url, "RMQ_DATA_DIR": str(tmp_path)}
        environ["DJANGO_SETTINGS_MODULE"] = "console.config.settings"  # not those of these tests
        command = [sys.executable, "manage.py", "jobs", "default", "--on-demand", "pipeline", "-v0"]
        jobs = subprocess.Popen(command, cwd=BASE_DIR, env=environ, start_new_session=True)
        try:
            operations, runs = (Queue(f"rmq:{name}", connection=client) for name in ("default", "pipeline"))
            short = runs.enqueue("time.sleep", 0)
            wait_until(lambda: short.is_finished, timeout_s=90, what="a run has a worker")
            worker = child_of(jobs.pid) or 0
            assert worker, "it waits for the next one"
            following = runs.enqueue("time.sleep", 3 if number == signal.SIGTERM else 600)
            wait_until(lambda: following.get_status() == "started", timeout_s=90, what="the next run has begun")
            assert child_of(jobs.pid) == worker and child_of(worker) is None, "in the same process"
            other = operations.enqueue("time.sleep", 0)
            wait_until(lambda: other.is_finished, timeout_s=90, what="an operation is done meanwhile")
        finally:
            jobs.send_signal(number)
            ended = jobs.wait(90)
        assert ended == (0 if number == signal.SIGTERM else -number)
        wait_until(lambda: state(worker)[0] == "Z", what="the worker has ended as well")
        assert number == signal.SIGKILL or following.get_status(refresh=True) == "finished"
