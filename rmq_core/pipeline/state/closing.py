"""The closing state: what a reconciliation leaves for the next one, so that its cost follows what is new.

::

    <archive>/state/<version>/messages/topic=<t>/*.parquet   of messages to which something happened since the version
                                                            before: what is carried of them (`carried`)
    <archive>/state/<version>/{accounts,ends,sketches}       sums over all that is archived (`accounts`, `figures`)
    <archive>/state/<version>/windows/topic=<t>/…            what the windows got since then (`windows`)
    <archive>/state/<version>.json                           written last: a version without one does not count

A version covers what the archive held then, topic by topic, and says of which files. A topic of which that does not
hold any more is read from scratch. See ``docs/decisions/215-closing-states.md``.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.pipeline import files, unchanged
from rmq_core.pipeline.archive import erasures
from rmq_core.pipeline.archive.archived import Archive, batch_name
from rmq_core.pipeline.history.accounts import ACCOUNTS
from rmq_core.pipeline.history.carried import Closing
from rmq_core.pipeline.history.figures import ENDS, SKETCHES
from rmq_core.pipeline.schemas import STEPS, ddl
from rmq_core.pipeline.sources.decoding import position_of
from rmq_core.pipeline.sources.offsets import since_of
from rmq_core.pipeline.state import versions, windows
from rmq_core.pipeline.state.covered import Covered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMAT = 4
TABLES = {"accounts": ACCOUNTS, "ends": ENDS, "sketches": SKETCHES}
PARTED = ("messages", "windows")
"""Tables with a folder for each topic."""

WINDOWS_MOST = 8
"""Windows in more folders than that are added up in one."""

WHY = {
    "asked": "asked for",
    "first": "no closing state has it yet",
    "deleted": "it was deleted and made anew",
    "journal": "its journals were read otherwise since",
    "files": "files of the archive have changed",
    "state": "files of its closing state are lost or have changed",
    "twice": "running numbers came a second time",
    "format": "another release wrote the closing state",
    "erased": "its closing state is older than an erasure",
}
"""Why a topic is read from scratch."""
TRUSTED = ("asked", "deleted")
"""Those after which what its files say is taken as true."""

ERASED_MEANWHILE = "messages were erased from the archive meanwhile: run it again"


@dataclass
class ClosingState:
    """The newest version of an archive, as far as it holds, and what the next one must say.

    ``known``: by topic; ``scratch``: why the others are not; ``doubted``: topics of which files were changed by hand,
    and that nobody has asked to read from scratch since. ``now``: the archive's folders, by topic. ``erased``: the
    erasures there were, as a listing has them; ``clean``: those of which it has nothing. ``recorded``: the marks of its
    files, as the version says them.
    """

    archive: Archive
    deletions: Mapping[str, int] = field(default_factory=dict)
    number: int = 0
    version: str | None = None
    run: str | None = None
    known: dict[str, Covered] = field(default_factory=dict)
    others: dict[str, Covered] = field(default_factory=dict)
    scratch: dict[str, str] = field(default_factory=dict)
    doubted: set[str] = field(default_factory=set)
    now: dict[str, unchanged.Folders] = field(default_factory=dict)
    erased: set[tuple[str, int, int]] = field(default_factory=set)
    clean: frozenset[str] = frozenset()
    recorded: unchanged.Folders = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Where the versions are."""
        return f"{self.archive.path}/state"

    @property
    def closing(self) -> Closing:
        """How `replay` closes what comes next."""
        return Closing(self.number + 1, frozenset(self.known))

    def carried(self, topics: Collection[str] | None = None) -> DataFrame | None:
        """Of the known topics, or these of them, what is carried of their messages (`schemas.STEPS`); None: nothing."""
        known = {topic: each for topic, each in self.known.items() if topics is None or topic in topics}
        return self.messages({topic: each.messages for topic, each in known.items()})

    def messages(self, folders: Mapping[str, list[str]]) -> DataFrame | None:
        """What is carried in these folders, by topic."""
        return self._by_topic("messages", ddl(STEPS), folders)

    def windows(self) -> DataFrame | None:
        """Of the known topics, their windows in parts (`windows.WINDOWS`); None: there are none."""
        return self._by_topic("windows", windows.WINDOWS, {topic: each.windows for topic, each in self.known.items()})

    def _by_topic(self, name: str, schema: str, folders: Mapping[str, list[str]]) -> DataFrame | None:
        """What these folders have of each topic in a table that is parted by topics."""
        from pyspark.sql import DataFrame

        session, by_folder = self.archive.session, dict[str, list[str]]()
        for topic, several in folders.items():
            for folder in several:
                by_folder.setdefault(folder, []).append(topic)
        found = []
        for folder, topics in by_folder.items():
            base = f"{self.path}/{folder}/{name}"
            there = set(files.folders(session, base))
            if paths := [f"{base}/topic={topic}" for topic in topics if f"topic={topic}" in there]:
                found.append(files.literally(session).schema(schema).option("basePath", base).parquet(*paths))
        return reduce(DataFrame.unionByName, found) if found else None

    def table(self, name: str) -> DataFrame | None:
        """Of the known topics, one of the `TABLES`; None: there is none."""
        from pyspark.sql import DataFrame
        from pyspark.sql import functions as F

        by_folder: dict[str, list[str]] = {}
        for topic, covered in self.known.items():
            by_folder.setdefault(covered.folder, []).append(topic)
        several = [
            files.literally(self.archive.session)
            .schema(TABLES[name])
            .parquet(f"{self.path}/{folder}/{name}")
            .where(F.col("topic").isin(topics))
            for folder, topics in by_folder.items()
        ]
        return reduce(DataFrame.unionByName, several) if several else None

    def paths(self, topics: list[str]) -> list[str] | None:
        """The folders of the archive with what these topics have that is not covered; None: all there are."""
        if not self.known:
            return None
        notes, until, found = self.archive.compactions(), batch_name(self.archive.until or 0), []
        for topic in topics:
            here, root = self.now.get(topic, {}), f"{self.archive.events}/topic={topic}"
            if topic not in self.known:
                found += [root] if here else []
                continue
            for folder in unchanged.counting(here, [note for note in notes if note.topic == topic], until):
                date, _, batch = folder.partition("/")
                if unchanged.last_of(batch) > self.known[topic].until:
                    found.append(f"{root}/date={date}/batch={batch}")
        return found

    def damaged(self, topics: Mapping[str, Covered]) -> list[str]:
        """Those of the topics of which files of this state are lost or have changed."""
        there = unchanged.marks(self.archive.session, self.path) if topics else {}
        return unchanged.changed({name: each.places for name, each in topics.items()}, self.recorded, there)

    def positions(self) -> list[tuple[str, int, int]]:
        """Per topic and slot the last position that is covered."""
        return [
            (topic, int(slot), position_of(end))
            for topic, covered in self.known.items()
            for slot, end in covered.offsets.items()
        ]

    def forks(self) -> list[tuple[str, int, int]]:
        """Topic, slot and life of those that are known."""
        return [(topic, slot, life) for topic, covered in self.known.items() for slot, life in covered.forks]

    def has_news(self, topics: list[str]) -> bool:
        """Whether the archive has more than is covered."""
        ends = self.archive.committed_offsets()
        return any(topic not in self.known or self.known[topic].offsets != ends.get(topic, {}) for topic in topics)

    def check_erased(self) -> None:
        """Raises `PipelineError` where messages were erased since: what was read of them may not be kept."""
        if erasures.known(self.archive.session, self.archive.path) != self.erased:
            raise PipelineError(ERASED_MEANWHILE)

    def close(
        self, topics: list[str], run: str, tables: Mapping[str, DataFrame], forks: list[tuple[str, int, int]]
    ) -> str:
        """Writes the next version; returns its name. ``tables``: ``messages``, as `schemas.STEPS`, ``windows``, and
        `TABLES`. Raises `PipelineError`, and leaves nothing, where messages were erased meanwhile."""
        folder = self.new_name(1)
        with self.dropped_if_broken_off(folder):
            known = self._close(folder, topics, run, tables, forks)
        versions.prune(self.archive.session, self.path, FORMAT, PARTED, self.clean)
        self.others = {topic: each for topic, each in known.items() if topic not in topics}
        self.known, self.number = {topic: known[topic] for topic in topics}, self.number + 1
        return folder

    @contextmanager
    def dropped_if_broken_off(self, *folders: str) -> Iterator[None]:
        """Removes these versions where what is done inside fails."""
        try:
            yield
        except BaseException:  # also when it is asked to end
            # What it has read may have been erased since, and nobody comes back for it.
            for folder in folders:
                with suppress(Exception):  # the first error says more
                    versions.drop(self.archive.session, self.path, folder)
            raise

    def new_name(self, steps: int) -> str:
        """Of the version that comes so many after this one."""
        return f"{batch_name(self.number + steps)}-{uuid.uuid4().hex[:8]}"

    def _close(
        self,
        folder: str,
        topics: list[str],
        run: str,
        tables: Mapping[str, DataFrame],
        forks: list[tuple[str, int, int]],
    ) -> dict[str, Covered]:
        whole = any(len(each.windows) >= WINDOWS_MOST for each in self.known.values())
        for name, frame in tables.items():
            if name == "windows" and whole and (old := self.windows()) is not None:
                frame = windows.added(old, frame, int(time.time() * 1000))
            writer = frame.write.mode("overwrite")
            if name == "windows":
                writer = frame.repartition("topic").sortWithinPartitions(*windows.SORTED).write.mode("overwrite")
            writer = writer.partitionBy("topic") if name in PARTED else writer
            writer.parquet(f"{self.path}/{folder}/{name}")
        ends, until = self.archive.committed_offsets(), batch_name(self.archive.until or 0)
        notes = self.archive.compaction_notes()
        known = dict(self.others)
        for topic in topics:
            before = self.known.get(topic)
            of_topic = [note for note in notes if note.topic == topic]
            known[topic] = Covered(
                folder,
                [*(before.messages if before else []), folder],
                [*(before.windows if before and not whole else []), folder],
                until,
                ends.get(topic, {}),
                unchanged.counting(self.now.get(topic, {}), of_topic, until),
                self.deletions.get(topic, -1),
                [(slot, life) for of, slot, life in forks if of == topic],
                topic in self.doubted,
            )
        self.check_erased()
        self.write(folder, run, known)
        self.check_erased()  # one that began just then has not seen it
        return known

    def write(self, folder: str, run: str, known: dict[str, Covered]) -> None:
        """Says what a version knows; then it counts."""
        said: dict[str, Any] = {
            "format": FORMAT,
            "number": int(folder.partition("-")[0]),
            "run": run,
            "at_ms": int(time.time() * 1000),
            "erased": sorted(self.clean),
        }
        topics = {topic: covered.as_json() for topic, covered in known.items()}
        needed = {name for covered in known.values() for name in covered.folders}
        there = unchanged.marks(self.archive.session, self.path)
        # What was recorded stays, for of topics that this run does not look at, nobody has seen whether it holds.
        kept = there | self.recorded
        said["kept"] = {place: mark for place, mark in kept.items() if place.partition("/")[0] in needed}
        files.write_text(self.archive.session, f"{self.path}/{folder}.json", json.dumps(said | {"topics": topics}))


def opened(
    archive: Archive, topics: list[str], deletions: Mapping[str, int], *, scratch: Mapping[str, str] | None = None
) -> ClosingState:
    """The newest closing state of an archive, as far as it holds for these topics. ``scratch``: those that are to be
    read from scratch, and why; ``"*"``: all."""
    session = archive.session
    erased = erasures.known(session, archive.path)
    state = ClosingState(archive, deletions, now=unchanged.listing(session, archive.events), erased=erased)
    notes = archive.compaction_notes()
    state.clean = erasures.applied(notes)
    said: dict[str, Any] | None = None
    first = "first"
    for name in sorted(versions.manifests(session, state.path), reverse=True):
        state.number = max(state.number, int(name.partition("-")[0]))
        found = versions.said(session, state.path, name, FORMAT)
        if found is not None and versions.is_clean(found, state.clean):
            said, state.version, state.run = found, name, found["run"]
            break
        first = "erased" if found is not None else first
    covered = {topic: Covered(**each) for topic, each in (said or {"topics": {}})["topics"].items()}
    state.others = {
        topic: each
        for topic, each in covered.items()
        if topic not in topics and each.deleted_ms == deletions.get(topic, -1)
    }
    ends = archive.committed_offsets()
    state.recorded = (said or {}).get("kept") or {}
    damaged = state.damaged({topic: each for topic, each in covered.items() if topic in topics})
    for topic in topics:
        why = (scratch or {}).get(topic) or (scratch or {}).get("*")
        if topic not in covered:
            why = why or first
        elif not why:
            of_topic = [note for note in notes if note.topic == topic]
            # Of an archive that was copied without the times of its files both hold: that casts a doubt.
            why = _doubt(
                covered[topic], ends.get(topic, {}), state.now.get(topic, {}), of_topic, deletions.get(topic, -1)
            ) or ("state" if topic in damaged else None)
        if why == "files" or (topic in covered and covered[topic].doubted and why not in TRUSTED):
            state.doubted.add(topic)
        if why:
            state.scratch[topic] = why
        else:
            state.known[topic] = covered[topic]
    return state


def _doubt(
    covered: Covered, ends: Mapping[str, str], now: unchanged.Folders, notes: list[Any], deleted_ms: int
) -> str | None:
    """Why what is known of a topic does not hold any more."""
    if covered.deleted_ms != deleted_ms:
        return "deleted"
    for slot, end in covered.offsets.items():
        here = ends.get(slot)
        if here is None or position_of(here) < position_of(end) or since_of(here) != since_of(end):
            return "journal"
    return None if unchanged.is_unchanged(covered.files, covered.until, now, notes) else "files"
