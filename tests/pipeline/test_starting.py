"""A job that is asked to end while Spark starts leaves nothing behind; a busy machine gets another try."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rmq_core import RMQ
from rmq_core.errors import PipelineError
from rmq_core.pipeline.sentences import BUSY, plain_errors, sentence, with_retries
from tests.support.spark import SUBMIT_ARGS
from tests.support.waiting import wait_until

START_S = 120


def children(pid: int) -> list[int]:
    """Of a process, as the kernel tells."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            found += [int(each) for each in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
@pytest.mark.parametrize("after_s", [0.0, 1.0, 3.0])
def test_sigterm_while_spark_starts_leaves_no_java_behind(client: RMQ, tmp_path: Path, after_s: float) -> None:
    command = [
        sys.executable,
        "-m",
        "rmq_core.pipeline",
        "archive",
        "--archive",
        f"{tmp_path}/a",
        "--log",
        f"{tmp_path}/l",
    ]
    environment = os.environ | {"RMQ_URL": client.target.url, "RMQ_NAMESPACE": client.keyspace.namespace}
    environment |= {"PYSPARK_SUBMIT_ARGS": SUBMIT_ARGS}
    with (tmp_path / "errors").open("wb") as errors:
        job = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
    try:
        started = wait_until(lambda: children(job.pid), timeout_s=START_S, what="the job to start Java")
        # Not to be on time, but to meet it at different points of its way.
        with pytest.raises(subprocess.TimeoutExpired):
            job.wait(after_s or 0.01)
        started = sorted({*started, *children(job.pid)})
        job.send_signal(signal.SIGTERM)
        assert job.wait(START_S) == 130
        wait_until(lambda: not any(map(lives, started)), timeout_s=30, what="Java to be gone")
    finally:
        job.kill()
        job.wait()


WHERE_NOBODY_CATCHES = """
import logging, os, signal, socket, subprocess, sys, threading
from rmq_core.pipeline.interrupts import end_on_sigterm

end_on_sigterm()
dropped, hook = [], sys.unraisablehook
java, answers = socket.socketpair()
late = threading.Timer(30, answers.send, [b"2"])
late.daemon = True
late.start()
sys.unraisablehook = lambda each: (dropped.append(each.exc_type), hook(each))


def ask() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    for _ in range(1_000):  # it is raised here, or soon after
        pass


class Finalized:
    def __del__(self) -> None:
        ask()


def fork() -> None:
    os.register_at_fork(**{sys.argv[2]: ask})
    subprocess.Popen(["true"], preexec_fn=lambda: None).wait()


try:
    {"finalizer": lambda: Finalized() and None, "fork": fork}[sys.argv[1]]()
    java.recv(1)  # one long wait, as that for a job of Spark
except KeyboardInterrupt:
    if late.finished.is_set():  # it has not been woken, and would have waited as long as Spark works
        raise SystemExit(5) from None
    free = threading.Thread(target=logging.warning, args=["free"], daemon=True)
    free.start()
    free.join(30)
    if dropped and sys.argv[1] == "fork":  # what is dropped there leaves the lock of `logging` behind
        raise SystemExit(4) from None
    raise SystemExit(0 if not free.is_alive() else 3) from None
raise SystemExit(2)
"""


@pytest.mark.parametrize("where", [["finalizer", ""], ["fork", "before"], ["fork", "after_in_parent"]])
def test_sigterm_is_not_lost_where_nobody_could_catch_it(where: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", WHERE_NOBODY_CATCHES, *where], timeout=START_S, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


LATE = "[STREAM_FAILED] Query [id = 37f7, runId = 1] terminated with exception: Python worker failed to connect back."


def test_what_only_the_load_has_failed_is_tried_again() -> None:
    tries = []

    def late() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise RuntimeError(LATE)
        return "done"

    assert (with_retries(late, pause_s=0), len(tries)) == ("done", 3)
    with pytest.raises(PipelineError) as caught, plain_errors("the archive stopped"):
        with_retries(lambda: (_ for _ in ()).throw(RuntimeError(LATE)), pause_s=0)
    assert str(caught.value) == f"the archive stopped: {BUSY}"
    tries.clear()

    def wrong() -> None:
        tries.append(1)
        raise RuntimeError("KeyError: 'n'")

    with pytest.raises(RuntimeError):
        with_retries(wrong, pause_s=0)
    assert len(tries) == 1


def test_what_fails_on_the_way_out_of_an_interrupted_job_is_no_failure() -> None:
    tries = []

    def stopped() -> None:
        tries.append(1)
        try:
            raise KeyboardInterrupt
        finally:  # as a query that is stopped: Java answers nothing, or late
            raise RuntimeError(LATE)

    with pytest.raises(KeyboardInterrupt), plain_errors("the archive stopped"):
        with_retries(stopped, pause_s=0)
    assert len(tries) == 1


def test_a_full_disk_is_called_so() -> None:
    text = (
        'Traceback (most recent call last):\n  File "x.py", line 1, in write\n'
        "py4j.protocol.Py4JJavaError: An error occurred while calling o99.parquet.\n"
        ": org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/srv/a/events.\n"
        "Caused by: java.io.IOException: No space left on device\n"
    )
    assert sentence(RuntimeError(text)).startswith("the disk is full (file:/srv/a/events): make room and run it again")
    unknown = text.replace("No space left on device", "Input/output error")
    assert "Py4J" not in sentence(RuntimeError(unknown)) and "Input/output error" in sentence(RuntimeError(unknown))
    assert "Query [id" not in sentence(
        RuntimeError("Query [id = 1, runId = 2] terminated with exception: no such thing")
    )


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (
            "Job aborted: Lost task 0.0 (TID 1): java.io.IOException: Mkdirs failed to create"
            " file:/srv/a/topics/_temporary/0/_temporary/attempt_1 (exists=false, cwd=file:/)",
            "/srv/a/topics",
        ),
        (
            "java.io.IOException: Mkdirs failed to create file:/srv/a/events/.spark-staging-4/_temporary/0 (exists=…)",
            "/srv/a/events",
        ),
        ("[Errno 30] Read-only file system: '/srv/my reports/1'", "/srv/my reports/1"),
        ("[Errno 13] Permission denied: '/srv/a'", "/srv/a"),
        ("[Errno 13] Permission denied: '/srv/a/.spark-staging-4/x' -> '/srv/a/date=1/x'", "/srv/a/date=1/x"),
        ("java.io.FileNotFoundException: /srv/a/x.parquet (Permission denied)", "/srv/a/x.parquet"),
    ],
)
def test_a_folder_that_may_not_be_written_is_named(text: str, path: str) -> None:
    said = sentence(RuntimeError(text))
    assert said.startswith(f"{path} cannot be ") and "give the rights to it" in said and "Mkdirs" not in said
