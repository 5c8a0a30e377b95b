"""A Spark session that starts anywhere and keeps its noise to itself.

``SPARK_REMOTE`` (``sc://…``) means Spark Connect, ``SPARK_MASTER`` a cluster; without them Spark runs in this process.
Under ``spark-submit`` its options decide.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rmq_core.embedded.java import Java, find_java
from rmq_core.errors import EmbeddedServerError, PipelineError
from rmq_core.pipeline import class_cache, java_names, local_files, shipping
from rmq_core.pipeline.java_options import JAVA_OPTIONS, with_ours
from rmq_core.pipeline.sentences import sentence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
ENDS_WITHIN_S = 10.0
CONNECT_PORT = 15002
CONNECT_WITHIN_S = 10.0
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    # A topic whose name is digits and dots stays text when it becomes a folder's name.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    # Else times have no zone in the files, and every other reader takes them as it likes.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.streaming.metricsEnabled": "false",
    # What is to be read is known before; and in Spark 4.3 it fails where a table of this process is what is pruned.
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    # To say which line of ours an error comes from, every column would be some ten calls to Java.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
_OWN_DRIVER = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Nobody looks back at these; all of them are sorted at every look at how far a job is.
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.sql.ui.retainedExecutions": "20",
    # A run has more than the usual hundred pieces of generated code; what fell out is compiled anew by the next one.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # Archives and reports are for their owner, whatever the umask: Hadoop sets modes by this.
    "spark.hadoop.fs.permissions.umask-mode": "077",
}
_LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # With less the collector takes time beside millions of open messages, with more the process has more than 2 GiB.
    "spark.driver.memory": "1100m",
    "spark.sql.shuffle.partitions": "8",
    # What one task would do in a second or two, both cores do in half of that.
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
    "spark.hadoop.fs.file.impl.disable.cache": "false",
    # To look into more than 32 folders would be a job, which costs more than the looking.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
}


def open_session(
    name: str = "rmq",
    *,
    settings: Mapping[str, str] | None = None,
    log: Path | str | None = None,
    brief: bool = False,
) -> SparkSession:
    """Starts or joins a session. ``log``: where Spark's own output goes; None for a temporary file. ``brief``: it is
    for what is soon done.

    Raises `PipelineError` where Spark or Java is missing or the cluster cannot be reached.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise PipelineError(f"Spark is not installed ({error}): pip install 'rmq-console[pipeline]'") from error
    where = log_file(log)
    if remote := os.environ.get("SPARK_REMOTE"):
        target, wanted = remote, _reached(remote)
    elif "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started Java, and chosen the master
        target, wanted = "the master of spark-submit", _SETTINGS | _OWN_DRIVER
    else:
        os.environ.pop("SPARK_REMOTE", None)  # to Spark an empty one is one, too
        target = os.environ.get("SPARK_MASTER") or LOCAL
        _look_for_master(target)
        wanted = _SETTINGS | _OWN_DRIVER | {"spark.master": target}
        java = _find_programs()
        if _is_local(target):
            wanted |= _LOCAL_SETTINGS | {JAVA_OPTIONS: with_ours(class_cache.used(java), settings, brief=brief)}
    builder = SparkSession.builder.appName(name)
    for key, value in (wanted | dict(settings or {})).items():
        builder = builder.config(key, value)
    logged = where.stat().st_size if where.exists() else 0
    try:
        with _output_to(where), _nothing_left_behind():
            session = builder.getOrCreate()
            shipping.ship(session)
    except ImportError as error:
        raise PipelineError(f"a package is missing ({sentence(error)}): pip install 'rmq-console[connect]'") from error
    except Exception as error:
        why = _why_it_ended(where, logged) or sentence(error)
        raise PipelineError(f"no Spark session at {target}: {why} (its log: {where})") from error
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # what it would say comes as an exception, too
    logging.getLogger().addFilter(_is_news)
    if not remote:
        session.sparkContext.setLogLevel("ERROR")
        java_names.remember(session)
        if _is_local(target):
            local_files.use_own(session)
    return session


def close_session(session: SparkSession) -> None:
    """Ends it. Of one whose Java is gone nothing is left to end, and what went wrong before that says more."""
    with suppress(Exception):
        session.stop()


def log_file(given: Path | str | None) -> Path:
    """Where Spark's own output goes."""
    return Path(given) if given else Path(tempfile.gettempdir()) / f"rmq-spark-{os.getpid()}.log"


def _is_news(record: logging.LogRecord) -> bool:
    """Py4J tells the root logger, with a stack, that a job was interrupted; so do we, in a sentence."""
    return "while sending command" not in record.getMessage()


def in_this_process() -> bool:
    """Whether a session that is opened now has its Spark here."""
    remote = os.environ.get("SPARK_REMOTE") or "PYSPARK_GATEWAY_PORT" in os.environ
    return not remote and _is_local(os.environ.get("SPARK_MASTER") or LOCAL)


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _find_programs() -> Java:
    """Java for what this process starts, and Python for what that starts (on executors too, if it is there)."""
    try:
        java = find_java()
    except EmbeddedServerError as error:
        raise PipelineError(f"Spark needs Java: {error}") from error
    os.environ.update(java.environment)
    # Else several of Java's threads get a heap of the C library's each, of which most stays empty: 140 MiB.
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    return java


def _reached(remote: str) -> dict[str, str]:
    """The settings a Connect server takes, after a look whether it is there: Spark itself would try for minutes."""
    try:
        parts = urlsplit(remote)
        host, port = parts.hostname, parts.port or CONNECT_PORT
    except ValueError as error:
        raise PipelineError(f"SPARK_REMOTE={remote} cannot be read: {error}") from None
    if parts.scheme != "sc" or not host:
        raise PipelineError(f"SPARK_REMOTE={remote} must be sc://host:port; a master goes into SPARK_MASTER")
    if problem := _silent(host, port):
        raise PipelineError(f"no Spark Connect server answers at {host}:{port}: {problem}")
    return dict(_SETTINGS)


def _look_for_master(master: str) -> None:
    """Of the masters of a standalone cluster one must be there, for the same reason."""
    scheme, _, addresses = master.partition("://")
    if scheme != "spark":
        return
    problem: str | None = None
    for address in addresses.split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise PipelineError(f"SPARK_MASTER={master} must be spark://host:port")
        problem = _silent(host.strip("[]"), int(port))
        if problem is None:
            return
    raise PipelineError(f"no Spark master answers at {addresses}: {problem}")


def _silent(host: str, port: int) -> str | None:
    """Why nobody answers there; None where somebody does."""
    try:
        socket.create_connection((host, port), timeout=CONNECT_WITHIN_S).close()
    except (OSError, OverflowError) as error:
        return str(error)
    return None


_REASON = re.compile(
    r'(?:Exception in thread "main" [\w.$]+: |has been killed\. Reason: '
    r"|Error initializing SparkContext\.\n[\w.$]+: (?:\[[A-Z_.]+\] )?)(.+)"
)


def _why_it_ended(log: Path, since: int) -> str | None:
    """Why Java ended, of what it wrote behind that byte; to Python it is only gone."""
    if not log.exists():
        return None
    with log.open("rb") as file:
        file.seek(since)
        found = _REASON.findall(file.read().decode(errors="replace"))
    return str(found[-1]).strip() if found else None


@contextmanager
def _output_to(where: Path) -> Iterator[None]:
    """What is started inside writes into a file, and goes on doing so: the Java virtual machine and its workers."""
    sys.stdout.flush()
    sys.stderr.flush()
    where.parent.mkdir(parents=True, exist_ok=True)
    kept = [os.dup(1), os.dup(2)]
    file = os.open(where, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        os.dup2(file, 1)
        os.dup2(file, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, original in enumerate(kept, start=1):
            os.dup2(original, number)
            os.close(original)
        os.close(file)


@contextmanager
def _nothing_left_behind() -> Iterator[None]:
    """Ends the Java that was started inside when it does not come to its end: interrupted, or failed.

    Whoever waits for it knows no other way to it, and by itself it may stay for ever.
    """
    from pyspark import java_gateway

    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *given: Any, **options: Any) -> None:
            started.append(self)
            super().__init__(*given, **options)

    original, java_gateway.Popen = java_gateway.Popen, Noted  # type: ignore[attr-defined]
    try:
        yield
    except BaseException:
        for process in started:
            _end(process)
        raise
    finally:
        java_gateway.Popen = original  # type: ignore[attr-defined]


def _end(process: subprocess.Popen[bytes]) -> None:
    if getattr(process, "pid", None) is None:  # it never began
        return
    process.terminate()
    try:
        process.wait(ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
