"""The record of what was erased from an archive: ``<archive>/erased/<run>.json``; while that is not done, there is also
``<run>.open``.

Of the ids it keeps hashes with the archive's own salt: whoever knows an id can see that it was erased, so that no
business ledger is told that it never came. Nobody gets an id out of them but by trying ids.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.pipeline import files
from rmq_core.pipeline.small import small

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FORMAT = 1
FOLDER, OPEN = "erased", ".open"


@dataclass(frozen=True)
class Erasure:
    """``done_ms``: None of one that was stopped in the middle. Where readers see it already (`applied`), the next job
    that writes to the archive ends it; else it is to be run again, as another one. ``applied_ms``: since when a run
    that had begun before may not close its books. ``hashes``: per topic, of the ids. ``mentioning``: the same of
    messages that stay, and have told of them. ``within``: of some hashes, the only slots that are meant. ``reports``:
    a folder of reports of which it is to go, too."""

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
    applied_ms: int | None = None
    within: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    reports: str | None = None


def new_name() -> str:
    """Of the next one; they sort by time."""
    return f"{int(time.time() * 1000):015d}-{uuid.uuid4().hex[:8]}"


def applied(notes: Iterable[Any]) -> frozenset[str]:
    """The names of those that readers of an archive see. ``notes``: of its compactions, see `redacted`."""
    return frozenset(note.erasure for note in notes if note.erasure)


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
    *,
    name: str = "",
    transitions: int = 0,
    slots: Mapping[tuple[str, bytes], Collection[int]] | None = None,
    reports: str | None = None,
) -> Erasure:
    """Notes what is about to be erased: topics and ids; and who tells of it. ``slots``: in which alone, of some."""
    name, before = name or new_name(), erasures(session, path)
    salt = before[0].salt if before else os.urandom(16).hex()
    hashes, tellers = _hashes(salt, gone), _hashes(salt, mentioning)
    now_ms, within = int(time.time() * 1000), dict[str, dict[str, list[int]]]()
    for (topic, id), several in sorted((slots or {}).items()):
        within.setdefault(topic, {})[_hash(salt, id)] = sorted(several)
    begun = Erasure(
        *(name, salt, now_ms, None, reason, sorted(hashes), len(gone), transitions, days, hashes),
        mentioning=tellers,
        within=within,
        reports=reports,
    )
    write(session, path, begun)
    files.write_text(session, f"{path}/{FOLDER}/{name}{OPEN}", name)
    return begun


def _hash(salt: str, id: bytes) -> str:
    return hashlib.sha256(bytes.fromhex(salt) + id).hexdigest()


def _hashes(salt: str, messages: Collection[tuple[str, bytes]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for topic, id in sorted(messages):
        found.setdefault(topic, []).append(_hash(salt, id))
    return found


def apply(session: SparkSession, path: str, begun: Erasure) -> Erasure:
    """Notes that readers see it: whatever began to read before may not close its books any more."""
    begun = replace(begun, applied_ms=int(time.time() * 1000))
    write(session, path, begun)
    return begun


def end(session: SparkSession, path: str, begun: Erasure, transitions: int) -> None:
    """Notes that it is done."""
    write(session, path, replace(begun, done_ms=int(time.time() * 1000), transitions=transitions))
    close(session, path, begun.name)


def begun(session: SparkSession, path: str) -> list[str]:
    """The names of those that were stopped, or run just now."""
    if not files.seen_here(session):
        return []
    names = files.files(session, f"{path}/{FOLDER}")
    return sorted(name.removesuffix(OPEN) for name in names if name.endswith(OPEN))


def close(session: SparkSession, path: str, name: str) -> None:
    """Whatever became of it, nobody is to end it any more."""
    files.remove(session, f"{path}/{FOLDER}/{name}{OPEN}")


def write(session: SparkSession, path: str, erasure: Erasure) -> None:
    """The record, whole or not at all."""
    files.write_text(session, f"{path}/{FOLDER}/{erasure.name}.json", json.dumps(asdict(erasure)))


def known(session: SparkSession, path: str) -> set[tuple[str, int, int]]:
    """The erasures there were, as a listing tells: that one has ended makes its record longer, and is another set."""
    listed = files.tree(session, f"{path}/{FOLDER}") if files.seen_here(session) else []
    return {each for each in listed if each[0].endswith(".json")}


def hashed(session: SparkSession, one: Erasure) -> DataFrame:
    """Its messages: ``of`` a topic, ``hashed``, and ``within`` a slot, or null: any."""
    slots = [
        (topic, each, slot)
        for topic, several in one.hashes.items()
        for each in several
        for slot in one.within.get(topic, {}).get(each, [None])
    ]
    return small(session, slots, "of string, hashed string, within int")


def without_erased(ledger: DataFrame, path: str) -> DataFrame:
    """Rows (``topic``, ``id``) of a business ledger without what was erased: nobody can tell any more of that."""
    from pyspark.sql import functions as F

    session = ledger.sparkSession
    told = erasures(session, path) if files.seen_here(session) else []
    rows = sorted({(topic, each) for one in told for topic, several in one.hashes.items() for each in several})
    if not rows:
        return ledger
    gone = small(session, rows, "topic string, hashed string")
    known = ledger.withColumn("hashed", hash_of(F.col("id"), told[0].salt))
    return known.join(F.broadcast(gone), ["topic", "hashed"], "left_anti").drop("hashed")


def hash_of(id: Column, salt: str) -> Column:
    """As `Erasure.hashes` have it."""
    from pyspark.sql import functions as F

    return F.sha2(F.concat(F.unhex(F.lit(salt)), id), 256)
