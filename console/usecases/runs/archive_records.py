"""What the archive's own records say it has let go: what was erased (`erased/*.json`), and what was kept for as long as
its topic wants (`forgotten/*.json`).

Also what the command line has erased is there, with a salted hash of each id, so that nothing of it comes back out of
an older report or the record.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from console.access import User, in_scope
from console.options import options

T = TypeVar("T")
log = logging.getLogger("console.reconciliation")


@dataclass(frozen=True)
class Erasure:
    """`done_ms`: None of one that was stopped in the middle. Of ids only hashes are kept, by topic."""

    name: str
    salt: str
    begun_ms: int
    done_ms: int | None
    reason: str
    topics: list[str]
    messages: int
    transitions: int
    days: int
    hashes: dict[str, list[str]]


def archive_folder() -> Path | None:
    """The archive, where it is a folder of this machine."""
    path = options().pipeline_archive
    return None if "://" in path.removeprefix("file://") else Path(path.removeprefix("file://"))


def erasures(user: User | None = None) -> list[Erasure]:
    """The newest first, of those that somebody may see; none of an archive that is elsewhere."""
    found = _records("erased", lambda said: Erasure(**{name: said[name] for name in Erasure.__dataclass_fields__}))
    return [each for each in found if user is None or all(in_scope(user, topic) for topic in each.topics or ("",))]


def let_go(user: User) -> list[dict[str, Any]]:
    """A row for each time and topic, the newest first."""
    return [
        {"at_ms": said["at_ms"], "freed_bytes": 0, **each}
        for said in _records("forgotten", dict)
        for each in said.get("topics", ())
        if in_scope(user, each["topic"].partition("@")[0])
    ]


def erased_since(topic: str, ids: Iterable[bytes], since_ms: int) -> set[bytes]:
    """Those of these ids that were erased after that moment."""
    base = topic.partition("@")[0]
    several = [each for each in erasures() if (each.done_ms or each.begun_ms) >= since_ms]
    known = {(each.salt, hashed) for each in several for hashed in each.hashes.get(base, ())}
    salts = {each.salt for each in several}
    return {id for id in ids for salt in salts if (salt, _hashed(salt, id)) in known} if known else set()


def _records(name: str, read: Callable[[dict[str, Any]], T]) -> list[T]:
    folder, found = archive_folder(), []
    for path in sorted(folder.glob(f"{name}/*.json"), reverse=True) if folder else ():
        try:
            found.append(read(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError, KeyError):
            log.warning("a record of the archive cannot be read: %s/%s", name, path.name)
    return found


def _hashed(salt: str, id: Any) -> str:
    return hashlib.sha256(bytes.fromhex(salt) + bytes(id)).hexdigest()
