"""How far an archive came, batch by batch, in the files of a stream of Spark's.

::

    checkpoint/offsets/<n>    where batch n ends, written before it begins
    checkpoint/commits/<n>    that it is whole

So whichever writes the next batch goes on where the one before ended: a stream (over Spark Connect, and of earlier
releases), or this program itself.
"""

from __future__ import annotations

import json
import time
import uuid
from typing import TYPE_CHECKING

from rmq_core.errors import PipelineError
from rmq_core.pipeline.durable import create
from rmq_core.pipeline.files import files, read_text, remove, write_text
from rmq_core.pipeline.sources.offsets import Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT = 100
"""So many batches back it says where they ended, as a stream does."""
_FORM = "v1"


def read_offsets(lines: list[str], path: str) -> Offsets:
    """Of a file in ``offsets``. Raises `PipelineError`."""
    found = _parsed(lines)
    if found is None:
        raise PipelineError(
            f"a batch of the archive is whole, but {path}, which says how far it came, is empty, damaged or gone:"
            " bring it back from a backup"
        )
    return found


def _parsed(lines: list[str]) -> Offsets | None:
    try:
        _, _, last = lines
        found: Offsets = json.loads(last)
        return found if all(isinstance(slots, dict) for slots in found.values()) else None
    except (ValueError, AttributeError):
        return None


def begun(session: SparkSession, path: str, number: int) -> Offsets | None:
    """Where a batch ends that was begun; None: it was not, or the machine went down before that was on its disk. Then
    it may end anywhere, for nothing of it counts yet."""
    file = f"{path}/offsets/{number}"
    text = read_text(session, file)
    if text is None:
        return None
    found = _parsed([line for line in text.split("\n") if line])
    if found is None:
        remove(session, file)
    return found


def begin(session: SparkSession, path: str, number: int, end: Offsets) -> bool:
    """From now on that batch ends there, however often it is written. False: another job has begun it."""
    if number == 0:
        write_text(session, f"{path}/metadata", json.dumps({"id": str(uuid.uuid4())}))
    about = {"batchWatermarkMs": 0, "batchTimestampMs": time.time_ns() // 1_000_000, "conf": {}}
    text = "\n".join([_FORM, json.dumps(about), json.dumps(end)])
    return create(session, f"{path}/offsets/{number}", text)


def is_whole(session: SparkSession, path: str, number: int) -> bool:
    """Whether that batch counts."""
    return read_text(session, f"{path}/commits/{number}") is not None


def commit(session: SparkSession, path: str, number: int) -> bool:
    """It is whole. False: another job has said so."""
    text = "\n".join([_FORM, json.dumps({"nextBatchWatermarkMs": 0})])
    return create(session, f"{path}/commits/{number}", text)


def forget(session: SparkSession, path: str, number: int) -> None:
    """Where batches long before that one ended; also what one that was killed has left."""
    for folder in ("offsets", "commits"):
        for name in files(session, f"{path}/{folder}"):
            if name.isdigit() and int(name) <= number - KEPT:
                remove(session, f"{path}/{folder}/{name}")
