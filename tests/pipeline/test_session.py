"""What people read of Spark's errors, and of its progress; no Spark is started."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from rmq_core.errors import PipelineError
from rmq_core.pipeline.progress import Progress
from rmq_core.pipeline.sentences import ENDED, JAVA_GONE, is_transient, plain_errors, sentence
from rmq_core.pipeline.session import _why_it_ended


def test_errors_become_a_sentence() -> None:
    worker = (
        "[STREAM_FAILED] Query [id = 1] terminated with exception: An exception was thrown from the Python worker:\n"
        'Traceback (most recent call last):\n  File "x.py", line 1, in read\n'
    )
    lost = "rmq_core.errors.ConnectionLost: the Redis server did not answer; check it\n\nat org.apache.spark.X"
    assert sentence(Exception(worker + lost)) == "the Redis server did not answer; check it"
    assert sentence(Exception(worker + "KeyError: 'n'\n\n\tat org.apache.spark.X")) == "KeyError: 'n'"
    assert sentence(Exception("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03\nmore")) == (
        "Path does not exist: file:/x. SQLSTATE: 42K03"
    )
    # Of a process that was stopped for some minutes, and went on.
    null = 'because the return value of "org.apache.spark.SparkContext.dagScheduler()" is null'
    assert sentence(Exception(f'Cannot invoke "org.apache.spark.scheduler.DAGScheduler.x(long)" {null}')) == ENDED
    assert sentence(PipelineError("as it is")) == "as it is"
    assert sentence(Exception("")) == "Exception"


def test_an_error_of_a_java_that_is_gone_is_a_sentence() -> None:
    class Gone(Exception):
        def __str__(self) -> str:
            raise ConnectionRefusedError(111, "Connection refused")

    assert sentence(Gone()) == JAVA_GONE and not is_transient(Gone())
    with pytest.raises(PipelineError, match="ended before it could say why"), plain_errors("the archive stopped"):
        raise Gone


def test_why_java_ended_is_read_in_its_log(tmp_path: Path) -> None:
    log, before = tmp_path / "log", "Error initializing SparkContext.\na.B: of another time\n"
    said = "Insufficient driver memory: System memory 93323264 must be at least 471859200."
    log.write_text(
        f"{before}26/11/28 15:55:02 ERROR SparkContext: Error initializing SparkContext.\n"
        f"org.apache.spark.SparkIllegalArgumentException: [INVALID_DRIVER_MEMORY.SYSTEM_MEMORY] {said}\n\tat x\n"
    )
    assert _why_it_ended(log, len(before)) == said
    log.write_text(f"{before}26/11/28 WARN all is well\n")
    assert _why_it_ended(log, len(before)) is None


def test_progress_never_goes_back_and_says_nothing_twice() -> None:
    out = io.StringIO()
    progress = Progress(("read", "write"), json_lines=True, out=out)
    with progress.stage("read"):
        for done, total in ((1, 4), (3, 4), (3, 4), (0, 2), (1, 2)):
            progress.tell("read", done, total)
    with progress.stage("write"):
        pass
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["percent"] for line in lines] == [0, 12, 37, 50, 50, 100]
    assert lines[0] == {"stage": "read", "done": 0, "total": 1, "percent": 0}
