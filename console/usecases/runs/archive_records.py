"""What the archive's own records say it has let go: what was erased (`erased/*.json`), and what was kept for as long as
its topic wants (`forgotten/*.json`).

Also what the command line has erased is there, with a salted hash of each id, so that nothing of it comes back out of
an older report or the record.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
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
    """`done_ms`: None of one that was stopped in the middle. Of ids only hashes are kept, by topic; `mentioners`: of
    messages that stay, and have told of them."""

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
    mentioners: dict[str, list[str]]

    @property
    def mentioning(self) -> int:
        """How many other messages told of them."""
        return sum(map(len, self.mentioners.values()))

    def of(self, topic: str) -> list[str]:
        """The hashes of all that this erasure has touched of a topic."""
        return [*self.hashes.get(topic, ()), *self.mentioners.get(topic, ())]


def archive_folder() -> Path | None:
    """The archive, where it is a folder of this machine."""
    path = options().pipeline_archive
    return None if "://" in path.removeprefix("file://") else Path(path.removeprefix("file://"))


def erasures(user: User | None = None) -> list[Erasure]:
    """The newest first, of those that somebody may see; none of an archive that is elsewhere."""
    found = _records("erased", _erasure)
    return [each for each in found if user is None or all(in_scope(user, topic) for topic in each.topics or ("",))]


def damaged() -> list[str]:
    """The records that cannot be read, in the archive: what they say is not known here."""
    return sorted([*_damaged("erased", _erasure), *_damaged("forgotten", dict)])


def let_go(user: User) -> list[dict[str, Any]]:
    """A row for each time and topic, the newest first."""
    return [
        {"at_ms": said["at_ms"], "freed_bytes": 0, **each}
        for said in _records("forgotten", dict)
        for each in said.get("topics", ())
        if in_scope(user, each["topic"].partition("@")[0])
    ]


def erased_since(topic: str, ids: Iterable[bytes], since_ms: int) -> set[bytes]:
    """Those of these ids that were erased after that moment, or told of one that was; all of them where a record of
    that time cannot be read."""
    base = topic.partition("@")[0]
    if any(_begun_ms(each) >= since_ms for each in _damaged("erased", _erasure)):
        return set(ids)
    records = [each for each in erasures() if (each.done_ms or each.begun_ms) >= since_ms]
    known = {
        (each.salt, hashed)
        for each in records
        for several in (each.hashes, each.mentioners)
        for hashed in several.get(base, ())
    }
    salts = {each.salt for each in records}
    return {id for id in ids for salt in salts if (salt, _hashed(salt, id)) in known} if known else set()


def _erasure(said: dict[str, Any]) -> Erasure:
    named = {name: said[name] for name in Erasure.__dataclass_fields__ if name != "mentioners"}
    return Erasure(**named, mentioners=said.get("mentioning", {}))  # older releases wrote none


def _records(name: str, read: Callable[[dict[str, Any]], T]) -> list[T]:
    return [each for _, each in _read(name, read) if each is not None]


def _damaged(name: str, read: Callable[[dict[str, Any]], T]) -> list[str]:
    return [place for place, each in _read(name, read) if each is None]


def _read(name: str, read: Callable[[dict[str, Any]], T]) -> list[tuple[str, T | None]]:
    """Each record's place in the archive, and what it says; None: nobody knows."""
    folder, found = archive_folder(), list[tuple[str, T | None]]()
    for path in sorted(folder.glob(f"{name}/*.json"), reverse=True) if folder else ():
        each = None
        try:
            each = read(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            log.warning("a record of the archive cannot be read: %s/%s", name, path.name)
        found.append((f"{name}/{path.name}", each))
    return found


def _begun_ms(place: str) -> float:
    """When a record was begun, by its name; one that says nothing is of any time."""
    ms = place.partition("/")[2].partition("-")[0]
    return int(ms) if ms.isdigit() and ms.isascii() else math.inf


def _hashed(salt: str, id: Any) -> str:
    return hashlib.sha256(bytes.fromhex(salt) + bytes(id)).hexdigest()
