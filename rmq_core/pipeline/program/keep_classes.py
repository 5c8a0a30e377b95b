"""``python -m rmq_core.pipeline keep-classes``: has Java keep what it loads for Spark (see `class_cache`)."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rmq_core.embedded.java import find_java
from rmq_core.errors import EmbeddedServerError, PipelineError
from rmq_core.model.topic import Topic, TopicKind
from rmq_core.pipeline import class_cache
from rmq_core.pipeline.java_options import JAVA_OPTIONS, with_ours
from rmq_core.pipeline.jobs import reconcile, report, sums
from rmq_core.pipeline.jobs.judged import Judged
from rmq_core.pipeline.reading import History, StoredTables
from rmq_core.pipeline.schemas import EVENTS, QUEUES, ddl
from rmq_core.pipeline.session import in_this_process, log_file, open_session
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.tuning import few_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT_WITHIN_S = 300.0
_START = """
import sys
from rmq_core.pipeline.java_options import JAVA_OPTIONS
from rmq_core.pipeline.session import open_session

open_session("rmq keep-classes", settings={JAVA_OPTIONS: sys.argv[1]}).stop()
"""
_TOPIC = Topic("any", TopicKind.FIXED_TIME)


class _WithoutServer(SourceOptions):
    """Of a topic that is nowhere: no Redis need run where a program is installed."""

    def journaled(self) -> list[Topic]:
        return [_TOPIC]


def keep_classes(log: Path | str | None = None) -> Path:
    """Runs Spark once, a bit of everything, and returns the file that Java wrote of it when it ended.

    Raises `PipelineError` where Spark does not run in this process, or the file cannot be written, or used.
    """
    if not in_this_process():
        raise PipelineError("unset SPARK_MASTER and SPARK_REMOTE: this is of a Spark that runs in this process")
    try:
        java = find_java()
    except EmbeddedServerError as error:
        raise PipelineError(f"Spark needs Java: {error}") from error
    folder, name = class_cache.folder(), class_cache.name_for(java)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(".spark-*"):
            with suppress(OSError), _locked(left):
                shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as made, _locked(Path(made)):
            part = Path(made) / "part"
            _record(with_ours(class_cache.recorded(java, part)), made, log)
            if not part.exists():
                raise PipelineError(f"Java kept nothing of what it loaded (its log: {log_file(log)})")
            kept = folder / f"{name}-{part.stat().st_size}.classes"
            _try(with_ours(class_cache.read(java, part)), made)
            part.replace(kept)
        for file in folder.glob(f"{name}-*.classes"):
            if file != kept:
                file.unlink(missing_ok=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PipelineError(f"cannot keep what Java loads in {folder}: {error}") from error
    return kept


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """As long as this process lives. Raises `BlockingIOError` where another one that lives has it."""
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(number)


def _record(options: str, folder: str, log: Path | str | None) -> None:
    session = open_session("rmq keep-classes", settings={JAVA_OPTIONS: options}, log=log)
    gateway = session.sparkContext._gateway
    assert gateway is not None
    try:
        _a_bit_of_everything(session, folder)
        session.stop()
        gateway.proc.stdin.close()  # then it ends, and writes
        gateway.proc.wait(KEPT_WITHIN_S)
    finally:  # also when this process is asked to end
        gateway.proc.kill()


def _try(options: str, folder: str) -> None:
    """Raises `PipelineError` if Spark does not start with these: of what was cut off on a full disk Java dies."""
    command = [sys.executable, "-c", _START, options]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=KEPT_WITHIN_S, cwd=folder)
    if ran.returncode:
        raise PipelineError(f"Spark does not start from what Java kept: {ran.stderr.strip()[-500:]}")


def _a_bit_of_everything(session: SparkSession, folder: str) -> None:
    """A reconciliation of a topic in which nothing ever happened."""
    inputs = reconcile.Inputs(_WithoutServer("redis://unused", "unused", (_TOPIC.name,)), None, folder)
    snapshot, journal = (session.createDataFrame([], ddl(columns)) for columns in (QUEUES, EVENTS))
    kept = StoredTables(session, f"{folder}/tables")
    history = History(session, [_TOPIC.name], None, kept.write("journal", journal), {})
    with few_rows(session):
        judged = Judged([_TOPIC], inputs, kept)
        found = kept.write("findings", reconcile.findings(judged, kept.write("snapshot", snapshot), history))
        report.write_findings(found, f"{folder}/report")
        sums.written(kept, history, f"{folder}/report", "any")
