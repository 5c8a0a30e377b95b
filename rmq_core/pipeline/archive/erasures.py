"""The record of what was erased from an archive: ``<archive>/erased/<run>.json``.

Of the ids it keeps hashes with the archive's own salt: whoever knows an id can see that it was erased, so that no
business ledger is told that it never came. Nobody gets an id out of them but by trying ids.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from rmq_core.errors import PipelineError
from rmq_core.pipeline import files

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FORMAT = 1
FOLDER = "erased"


@dataclass(frozen=True)
class Erasure:
    """``done_ms``: None of one that was stopped in the middle; run again, another one ends what it began.
    ``hashes``: per topic, of the ids. ``mentioning``: the same of messages that stay, and have told of them."""

    name: str
    salt: str
    begun_ms: int
    done_ms: int | None
    reason: str
    topics: list[str]
    messages: int
    transitions: int
    days: int
    hashes: dict[str, list[str]] = field(default_factory=dict)
    format: int = FORMAT
    mentioning: dict[str, list[str]] = field(default_factory=dict)


def erasures(session: SparkSession, path: str) -> list[Erasure]:
    """Those of the archive at ``path``, the oldest first. Raises `PipelineError` where one cannot be read."""
    folder = f"{path}/{FOLDER}"
    names = [name for name in sorted(files.files(session, folder)) if name.endswith(".json")]
    return [_parsed(f"{folder}/{name}", files.read_text(session, f"{folder}/{name}")) for name in names]


def _parsed(file: str, text: str | None) -> Erasure:
    try:
        said = json.loads(text or "")
        return Erasure(**{name: value for name, value in said.items() if name in Erasure.__dataclass_fields__})
    except (ValueError, TypeError, AttributeError):
        raise PipelineError(
            f"{file}, which says what was erased, is damaged: bring it back from a backup, or take it out, and erase"
            " again what it was about"
        ) from None


def begin(
    session: SparkSession,
    path: str,
    reason: str,
    gone: Collection[tuple[str, bytes]],
    days: int,
    mentioning: Collection[tuple[str, bytes]] = (),
) -> Erasure:
    """Notes what is about to be erased: topics and ids; and who tells of it."""
    before = erasures(session, path)
    salt = before[0].salt if before else os.urandom(16).hex()
    hashes, tellers = _hashes(salt, gone), _hashes(salt, mentioning)
    now_ms = int(time.time() * 1000)
    name = f"{now_ms:015d}-{uuid.uuid4().hex[:8]}"
    topics = sorted(hashes)
    begun = Erasure(name, salt, now_ms, None, reason, topics, len(gone), 0, days, hashes, mentioning=tellers)
    write(session, path, begun)
    return begun


def _hashes(salt: str, messages: Collection[tuple[str, bytes]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for topic, id in sorted(messages):
        found.setdefault(topic, []).append(hashlib.sha256(bytes.fromhex(salt) + id).hexdigest())
    return found


def end(session: SparkSession, path: str, begun: Erasure, transitions: int) -> None:
    """Notes that it is done."""
    write(session, path, replace(begun, done_ms=int(time.time() * 1000), transitions=transitions))


def write(session: SparkSession, path: str, erasure: Erasure) -> None:
    """The record, whole or not at all."""
    files.write_text(session, f"{path}/{FOLDER}/{erasure.name}.json", json.dumps(asdict(erasure)))


def known(session: SparkSession, path: str) -> set[tuple[str, int, int]]:
    """The erasures there were, as a listing tells: that one has ended makes its record longer, and is another set."""
    listed = files.tree(session, f"{path}/{FOLDER}") if files.seen_here(session) else []
    return {each for each in listed if each[0].endswith(".json")}


def without_erased(ledger: DataFrame, path: str) -> DataFrame:
    """Rows (``topic``, ``id``) of a business ledger without what was erased: nobody can tell any more of that."""
    from pyspark.sql import functions as F

    from rmq_core.pipeline.small import small

    session = ledger.sparkSession
    told = erasures(session, path) if files.seen_here(session) else []
    rows = sorted({(topic, each) for one in told for topic, several in one.hashes.items() for each in several})
    if not rows:
        return ledger
    gone = small(session, rows, "topic string, hashed string")
    hashed = ledger.withColumn("hashed", _hashed(F.col("id"), told[0].salt))
    return hashed.join(F.broadcast(gone), ["topic", "hashed"], "left_anti").drop("hashed")


def _hashed(id: Column, salt: str) -> Column:
    from pyspark.sql import functions as F

    return F.sha2(F.concat(F.unhex(F.lit(salt)), id), 256)
