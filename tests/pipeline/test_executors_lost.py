"""Executors of a real cluster that are killed in the middle of a task, or fall so far behind that Spark copies their
tasks: what is archived, found and put back is the same as without."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from console.supervise.child import Child
from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.ports import LOOPBACK
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.journal import reader
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive_files import archive_files
from rmq_core.pipeline.sentences import LOST
from rmq_core.protocol.scripts import script
from tests.pipeline import executors
from tests.pipeline.standalone import Standalone, bare_python, without_java
from tests.support import spark
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
JOB_S = 1_200
SLOTS, MESSAGES = 4, 80
HOSTS = (LOOPBACK, "127.0.0.2")  # Spark copies no task on the machine that has it
HOUR_MS = 3_600_000
USUAL = spark.SETTINGS | {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.executor.extraJavaOptions": spark.BRIEF,
    "spark.executor.extraClassPath": spark.asked_first(),
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.locality.wait": "0s",
    # A busy machine is no lost executor, but where the test says so.
    "spark.network.timeout": "1200s",
    "spark.python.authenticate.socketTimeout": "300s",
    # A Python whose task was given up may go on for a while, as beyond a network that is torn.
    "spark.python.task.killTimeout": "1200s",
}
FEW_TRIES = {"spark.task.maxFailures": "1"}
COPIES_AT_ONCE = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.task.duration.threshold": "1s",  # of a task that is alone, too
    "spark.speculation.efficiency.enabled": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
}
READS, SCANS = b"XRANGE", b"ZSCAN"
LOOKS, PUTS = script("presence").sha.encode(), script("put_back").sha.encode()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Standalone, dict[str, str]]]:
    """Two executors' room, and the environment of programs that use it."""
    folder = tmp_path_factory.mktemp("cluster")
    environment = without_java(folder / "bin")
    python = bare_python(folder / "python")
    with Standalone(environment, HOSTS) as made:
        yield (
            made,
            os.environ | {"SPARK_MASTER": made.url, "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": LOOPBACK},
        )


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as own:
        yield own


@pytest.fixture
def proxy(server: EmbeddedRedis) -> Iterator[TcpProxy]:
    """Between the jobs and Redis."""
    with TcpProxy(server.port) as between:
        yield between


@pytest.fixture
def client(server: EmbeddedRedis) -> Iterator[RMQ]:
    with RMQ(server.url, "lost") as rmq:
        yield rmq


class Program:
    """Jobs one after the other in one session of the cluster."""

    def __init__(self, environment: dict[str, str], settings: dict[str, str], url: str, folder: Path) -> None:
        said = " ".join(f"--conf '{name}={value}'" for name, value in settings.items())
        environment = environment | {"RMQ_URL": url, "RMQ_NAMESPACE": "lost", "PYTHONUNBUFFERED": "1"}
        self._printed: list[dict[str, Any]] = []
        self.log, self._errors = folder / "errors", folder / "program-errors"
        command = [sys.executable, "-m", "rmq_core.pipeline", "serve", "--log", str(folder / "spark.log")]
        with self._errors.open("ab") as errors:
            self.child = Child(
                command, ROOT, environment | {"PYSPARK_SUBMIT_ARGS": f"{said} pyspark-shell"}, errors, listens=True
            )

    def begin(self, *arguments: str | Path) -> None:
        self.log.write_text("")
        words = [*map(str, arguments), "--slots-per-partition", "1", "--progress", "json"]
        self.child.say(json.dumps({"arguments": words, "log": str(self.log)}))

    def is_over(self) -> bool:
        """Whether it has ended."""
        while line := self.child.next_line(0):
            self._printed.append(json.loads(line))
        return any("ended" in each for each in self._printed)

    def _next(self) -> dict[str, Any]:
        if self._printed:
            return self._printed.pop(0)
        line = wait_until(
            lambda: self.child.next_line(0.1) or not self.child.is_running, timeout_s=JOB_S, what="the job's next word"
        )
        assert isinstance(line, str), self._errors.read_text()[-4_000:]
        printed: dict[str, Any] = json.loads(line)
        return printed

    def until(self, stage: str) -> None:
        """Waits for a stage to begin."""
        while (said := self._next()).get("stage") != stage:
            assert "ended" not in said, self.log.read_text()[-4_000:]

    def ended(self) -> tuple[int, dict[str, Any]]:
        """How it did, and what it printed."""
        printed: dict[str, Any] = {}
        while "ended" not in (line := self._next()):
            printed = line
        return line["ended"], printed

    def done(self) -> dict[str, Any]:
        """What it printed, for it did well."""
        code, printed = self.ended()
        assert code == 0, self.log.read_text()[-4_000:]
        return printed

    def said(self) -> str:
        """The sentence with which it failed."""
        code, _ = self.ended()
        assert code == 1
        return self.log.read_text().rstrip().rpartition("\n")[2]


@contextmanager
def running(program: Program) -> Iterator[Program]:
    """It ends by itself."""
    try:
        yield program
        program.child.say(None)
        assert program.child.wait() == 0
    finally:
        program.child.kill()
        program.child.wait()


Start = Callable[[dict[str, str]], Any]


@pytest.fixture
def start(cluster: Any, proxy: TcpProxy, server: EmbeddedRedis, tmp_path: Path) -> Start:
    """Begins a program with further settings of Spark's."""
    return lambda settings: running(Program(cluster[1], USUAL | settings, proxy.url(server.url), tmp_path))


def live(client: RMQ) -> None:
    """Messages that wait, fly, are dead, and are done; nobody trims what their journal says."""
    topic = client.define(
        Topic("work", TopicKind.PRIORITY, slots=SLOTS, journal=Journal.FULL, visibility_timeout_ms=HOUR_MS)
    )
    client.run(reader.register(client.keyspace, topic, "test"))
    client.send_many("work", [PriorityMessage(f"of {i}", 20 + i, key=f"m{i}") for i in range(MESSAGES)])
    taken = client.take("work", 20)
    client.ack(taken[:8])
    client.reject(taken[8:12])


def transitions(client: RMQ) -> list[Any]:
    return client.run(reader.read(client.keyspace, client.topic("work"))).transitions


def told(client: RMQ) -> Counter[tuple[Any, ...]]:
    """What the journals say."""
    return Counter((each.slot, each.entry_id, each.seq, each.event, each.id) for each in transitions(client))


def archived(path: Path) -> Counter[tuple[Any, ...]]:
    """What the archive has, row by row."""
    columns = ["slot", "entry", "seq", "event", "id"]
    table = ds.dataset(archive_files(str(path)), partitioning=ds.partitioning(flavor="hive")).to_table(columns=columns)
    return Counter(tuple(row.values()) for row in table.to_pylist())


def held(client: RMQ) -> dict[str, Counter[bytes]]:
    """Which messages are alive, and which dead."""
    found = {"alive": Counter[bytes](), "dead": Counter[bytes]()}
    for slot in range(SLOTS):
        keys = client.keyspace.slot("work", slot)
        for name in ("store", "retry", "prepare", "dead"):
            (ids,) = client.connection.run([("ZRANGE", getattr(keys, name), 0, -1)])
            found["dead" if name == "dead" else "alive"].update(ids)
    return found


def back(client: RMQ) -> Counter[bytes]:
    """How often each message was put back."""
    return Counter(each.id for each in transitions(client) if each.event == "restored")


def harm(client: RMQ) -> None:
    """What a reconciliation finds: of each slot a message that is gone, and the content of another one."""
    for slot in range(SLOTS):
        keys = client.keyspace.slot("work", slot)
        ((gone, bare),) = client.connection.run([("ZRANGE", keys.store, 0, 1)])
        client.connection.run([("ZREM", keys.store, gone), ("HDEL", keys.body, bare)])


def report(reports: Path, run: str) -> tuple[int, list[tuple[Any, ...]]]:
    """How many files of findings there are, and what they say."""
    files = sorted((reports / run / "findings").rglob("*.parquet"))
    rows = ds.dataset(files).to_table(columns=["kind", "topic", "slot", "id"]).to_pylist()
    return len(files), sorted(tuple(row.values()) for row in rows)


def finish(client: RMQ) -> set[bytes]:
    """Consumers take and acknowledge all that waits."""
    done = set[bytes]()
    while taken := client.take("work", 100):
        client.ack(taken)
        done.update(each.raw_id for each in taken)
    return done


def test_an_executor_is_killed_at_work(
    cluster: Any, start: Start, client: RMQ, proxy: TcpProxy, server: EmbeddedRedis, tmp_path: Path
) -> None:
    live(client)
    kept, reports = tmp_path / "archive", tmp_path / "reports"

    def lose_one(command: bytes, nth: int = 1, meanwhile: Callable[[], Any] = lambda: None) -> Any:
        executor, _ = executors.stalled_at(cluster[0], proxy, command, nth)
        executors.kill(executor)
        found = meanwhile()
        proxy.flow()
        return found

    with start({}) as program:
        program.begin("archive", "--archive", kept)
        lose_one(READS)
        assert program.done()["rows"] == sum(told(client).values())
        assert archived(kept) == told(client)
        wanted = held(client)
        harm(client)
        compare = ["reconcile", "--archive", kept, "--reports", reports, "--run"]
        program.begin(*compare, "calm")
        program.ended()
        program.begin(*compare, "torn", "--from-scratch")
        lose_one(SCANS)
        lose_one(LOOKS)
        program.ended()
        assert report(reports, "torn") == report(reports, "calm")
        assert len(report(reports, "calm")[1]) >= 2 * SLOTS
        program.begin(*compare, "after")
        program.ended()
        assert report(reports, "after") == report(reports, "calm"), "the closing state is right"
        server.client().flushall()
        program.begin("restore", "--archive", kept)
        done = lose_one(PUTS, 2, lambda: finish(client))
        program.done()
        assert done
        assert held(client)["dead"] == wanted["dead"]
        assert held(client)["alive"] + Counter(done) == wanted["alive"]
        assert back(client) == wanted["alive"] + wanted["dead"]


def test_jobs_that_spark_gives_up_say_so_and_go_on_the_next_time(
    cluster: Any, start: Start, client: RMQ, proxy: TcpProxy, server: EmbeddedRedis, tmp_path: Path
) -> None:
    """Each try loses its executors."""
    live(client)
    kept, reports = tmp_path / "archive", tmp_path / "reports"

    with start(FEW_TRIES) as program:
        program.begin("archive", "--archive", kept)
        executors.kill_each(cluster[0], proxy, READS, program.is_over)
        assert program.said() == f"the archive stopped: {LOST}"
        assert archive_files(str(kept)) == []
        program.begin("archive", "--archive", kept)
        assert program.done()["rows"] == sum(told(client).values())
        assert archived(kept) == told(client)
        wanted = held(client)
        harm(client)
        compare = ["reconcile", "--archive", kept, "--reports", reports, "--run"]
        program.begin(*compare, "torn")
        executors.kill_each(cluster[0], proxy, SCANS, program.is_over)
        assert program.said() == f"the reconciliation stopped: {LOST}"
        assert not (reports / "torn" / "summary.json").exists()
        assert not (reports / "torn" / "work").exists(), "what the queues held"
        program.begin(*compare, "torn")
        program.done()
        assert len(report(reports, "torn")[1]) == 2 * SLOTS
        server.client().flushall()
        program.begin("restore", "--archive", kept)
        executors.kill_each(cluster[0], proxy, PUTS, program.is_over)
        assert program.said() == f"the restore stopped: {LOST}"
        finished = finish(client)
        assert finished
        program.begin("restore", "--archive", kept)
        program.done()
        assert held(client)["alive"] + Counter(finished) == wanted["alive"]
        assert back(client) == wanted["alive"] + wanted["dead"]


def test_copies_of_tasks_change_nothing(
    cluster: Any, start: Start, client: RMQ, proxy: TcpProxy, server: EmbeddedRedis, tmp_path: Path
) -> None:
    live(client)
    kept, reports, events = tmp_path / "archive", tmp_path / "reports", tmp_path / "events"
    events.mkdir()

    def delay_one(command: bytes, nth: int = 1) -> int:
        _, python = executors.stalled_at(cluster[0], proxy, command, nth)
        executors.pause(python)
        proxy.flow()
        return python

    with start(COPIES_AT_ONCE | {"spark.eventLog.dir": events.as_uri()}) as program:
        program.begin("archive", "--archive", kept)
        slow = delay_one(READS)
        assert program.done()["rows"] == sum(told(client).values())
        assert archived(kept) == told(client)
        executors.go_on(slow)  # until then its executor does nothing else
        wanted = held(client)
        harm(client)
        compare = ["reconcile", "--archive", kept, "--reports", reports, "--run"]
        program.begin(*compare, "first")
        slow = delay_one(SCANS)
        program.until("journals")
        executors.go_on(slow)
        slow = delay_one(LOOKS)
        program.done()
        executors.go_on(slow)
        program.begin(*compare, "second", "--from-scratch")
        program.done()
        assert report(reports, "first") == report(reports, "second")
        assert len(report(reports, "first")[1]) == 2 * SLOTS
        assert archived(kept) == told(client)
        server.client().flushall()
        program.begin("restore", "--archive", kept)
        slow = delay_one(PUTS, 2)
        port = proxy.stalled_by
        program.done()
        assert held(client) == wanted
        done = finish(client)
        executors.go_on(slow)
        wait_until(lambda: not executors.has_port(slow, port), what="the slow task to end")
        assert (held(client)["alive"], done) == (Counter(), set(wanted["alive"])), "what is done stays done"
        assert back(client) == wanted["alive"] + wanted["dead"]
    copies = [each for each in tasks(events) if each["Task Info"]["Speculative"]]
    assert len(copies) >= 4


def tasks(events: Path) -> list[Any]:
    """Of all that Spark has begun."""
    found = []
    for file in events.rglob("*"):
        if file.is_file() and not file.name.startswith("."):
            several = map(json.loads, file.read_text().splitlines())
            found += [each for each in several if each["Event"] == "SparkListenerTaskStart"]
    return found
