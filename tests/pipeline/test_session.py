"""What people read of Spark's errors, and of its progress; no Spark is started."""

from __future__ import annotations

import io
import json

from rmq_core.errors import PipelineError
from rmq_core.pipeline.progress import Progress
from rmq_core.pipeline.sentences import sentence


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
    assert sentence(PipelineError("as it is")) == "as it is"
    assert sentence(Exception("")) == "Exception"


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
