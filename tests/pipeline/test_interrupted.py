"""Jobs that are killed or asked to end in the middle of their work: nothing is lost, nothing comes twice."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from console.supervise.child import Child
from rmq_core import RMQ, FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError
from rmq_core.journal import reader
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline.journal_rows import FAR_MS, exactly, rows, transitions
from tests.support.descendants import descendants
from tests.support.proxy import TcpProxy
from tests.support.spark import SUBMIT_ARGS
from tests.support.waiting import wait_until

START_S = 300
ROOT = Path(__file__).parents[2]

Begin = Callable[..., Child]


@pytest.fixture
def proxy(redis_server: EmbeddedRedis) -> Iterator[TcpProxy]:
    """Between the jobs and Redis."""
    with TcpProxy(redis_server.port) as between:
        yield between


@pytest.fixture
def begin(client: RMQ, proxy: TcpProxy, tmp_path: Path) -> Iterator[Begin]:
    """Starts programs on the test's namespace; they end with the test."""
    started = []

    def start(program: Sequence[str]) -> Child:
        environment = os.environ | {
            **{"RMQ_URL": proxy.url(client.target.url), "RMQ_NAMESPACE": client.keyspace.namespace},
            # One task at a time: when the third one reads, two have written.
            **{"SPARK_MASTER": "local[1]", "PYSPARK_SUBMIT_ARGS": SUBMIT_ARGS, "PYTHONUNBUFFERED": "1"},
        }
        with (tmp_path / "errors").open("ab") as errors:
            started.append(Child([sys.executable, "-m", *program], ROOT, environment, errors))
        return started[-1]

    yield start
    for child in started:
        child.kill()
        child.wait()


def committed(folder: Path) -> int:
    """Batches that count."""
    return len([each for each in (folder / "checkpoint" / "commits").glob("*") if each.name.isdigit()])


def send(client: RMQ, n: int) -> None:
    client.send_many("work", [PriorityMessage(f"m{n}-{i}", priority=100) for i in range(40)])


def until_committed(folder: Path, batches: int) -> None:
    wait_until(lambda: committed(folder) >= batches, timeout_s=START_S, what=f"batch {batches} to be archived")


def stall_at(proxy: TcpProxy, command: bytes, nth: int, then: Callable[[], Any] = lambda: None) -> None:
    """Has Redis fall silent in the middle of a job's reading. What ``then`` does, the job sees as a whole."""
    proxy.stall()
    then()
    proxy.stall_at(command, nth)
    proxy.flow()
    wait_until(proxy.stalled.is_set, timeout_s=START_S, what=f"the job to send {command.decode()} for the {nth}. time")


def define(client: RMQ, name: str, **options: Any) -> None:
    """A topic whose journal nobody trims, for it is to be compared in the end."""
    topic = client.define(Topic(name, journal=Journal.FULL, **options))
    client.run(reader.register(client.keyspace, topic, "test"))


def test_killed_and_interrupted(
    spark: Any, client: RMQ, proxy: TcpProxy, begin: Begin, redis_server: EmbeddedRedis, tmp_path: Path
) -> None:
    kept, reports = tmp_path / "archive", tmp_path / "reports"
    define(client, "work", kind=TopicKind.PRIORITY, slots=4)
    send(client, 0)
    always = [
        "archive",
        "--archive",
        str(kept),
        "--every",
        "0.2",
        "--slots-per-partition",
        "1",
        "--log",
        f"{tmp_path}/log",
    ]
    first = begin(["rmq_core.pipeline", *always])
    until_committed(kept, 1)
    define(client, "later", kind=TopicKind.FIXED_TIME, slots=1)  # a topic the job has not met
    client.send("later", FixedTimeMessage("x", due_ms=FAR_MS), allow_past=True)
    wait_until(
        lambda: any(kept.glob("events/topic=later/*/*/*.parquet")), timeout_s=START_S, what="the new topic's event"
    )
    wait_until(lambda: len(Archive(spark, str(kept)).definitions()) == 2, timeout_s=START_S, what="its definition")
    until_committed(kept, 2)  # the files are there a moment before they count
    end_pythons(first)
    client.send("later", FixedTimeMessage("y", due_ms=FAR_MS), allow_past=True)
    wait_until(lambda: committed(kept) == 3 or not first.is_running, timeout_s=START_S, what="it to go on")
    assert committed(kept) == 3
    before = committed(kept)
    stall_at(proxy, b"XRANGE", 3, lambda: send(client, 1))
    assert any(kept.glob("events/.spark-staging-*/**/*.parquet")), "it is in the middle of writing"
    first.kill()
    first.wait()
    proxy.flow()
    assert committed(kept) == before
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 1)
    with pytest.raises(PipelineError, match="another archive job is running for this namespace; wait until it has fin"):
        archive(spark, options, str(kept))
    with redis_server.client() as raw:
        raw.delete(client.keyspace.election("archive")[0])  # as if the killed one's lease had run out
    reconcile = ["reconcile", "--reports", str(reports), "--run", "cut", "--log", f"{tmp_path}/log"]
    second = begin(["tests.pipeline.child", " ".join(always), " ".join(reconcile)])
    until_committed(kept, before + 1)
    exactly(rows(Archive(spark, str(kept)).read()), transitions(client))
    stall_at(proxy, b"XRANGE", 3, lambda: send(client, 2))
    proxy.stall_at(b"ZSCAN")  # of the job that comes next
    ends(second, proxy)
    wait_until(proxy.stalled.is_set, timeout_s=START_S, what="the reconciliation to read the queues")
    ends(second, proxy)
    assert second.wait() == 0
    archive(spark, options, str(kept))
    exactly(rows(Archive(spark, str(kept)).read()), transitions(client))
    assert not list(kept.glob("events/.spark-staging-*"))
    assert not (reports / "cut" / "summary.json").exists()
    said = (tmp_path / "errors").read_text().splitlines()
    assert [line for line in said if " %  " not in line] == ["interrupted: nothing half done counts"] * 2


def test_a_job_whose_java_is_killed_says_so(client: RMQ, begin: Begin, tmp_path: Path) -> None:
    """As by the kernel, where the machine has no memory left."""
    kept = tmp_path / "archive"
    define(client, "work", kind=TopicKind.PRIORITY, slots=1)
    send(client, 0)
    job = begin(["rmq_core.pipeline", "archive", "--archive", str(kept), "--every", "0.2", "--log", f"{tmp_path}/log"])
    until_committed(kept, 1)
    for pid in descendants(job.pid):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text() == "java\n":
                os.kill(pid, signal.SIGKILL)
    send(client, 1)
    wait_until(lambda: not job.is_running, timeout_s=START_S, what="it to notice")
    assert job.wait() == 1
    *_, last = (tmp_path / "errors").read_text().splitlines()
    assert last.startswith("the archive stopped: Spark's Java ended before it could say why")
    assert committed(kept) == 1


def end_pythons(job: Child) -> None:
    """Kills what Spark has started as Python."""
    for pid in descendants(job.pid):
        with contextlib.suppress(OSError):
            if b"-m\0pyspark." in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)


def ends(child: Child, proxy: TcpProxy) -> None:
    """Asked to, while it waits for Redis, and Redis answers later."""
    child.ask_to_end()
    proxy.flow()
    assert wait_until(lambda: child.next_line(1), timeout_s=START_S, what="the job to end") == "exit 130"
