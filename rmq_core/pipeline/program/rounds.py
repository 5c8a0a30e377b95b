"""Reconciliations one after another in one session: each costs what moved, and nothing where nothing did.

Before a run every slot is looked at (`look`). Where that is as it was before the last one, so is the report, and it is
not made again; else those slots are compared in which something moved (`standing`). Values that somebody changed by
hand in a slot that does not move are in no such look, so now and then all queues are compared whatever it says, and
whenever a person asks (`Inputs.anew`); after that by whoever runs next.
"""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmq_core.pipeline.archive import erasures
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.files import literally, seen_here, write_text
from rmq_core.pipeline.jobs.look import Look, look
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.jobs.report import SUMMARY, TABLES, name_of_run
from rmq_core.pipeline.jobs.standing import Standing, standing, with_findings
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.schemas import FINDINGS
from rmq_core.pipeline.sources.offsets import Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE_EVERY_S, WHOLE_SHARE, WHOLE_MOST_S = 80.0, 2.5, 3_600.0
"""So long after one comparison of everything began the next one does, so that a fault is reported within two minutes
where it takes half of one; where it takes longer, so many times as long, and an hour at most."""
REMEMBERED = 20
"""Of so many kinds of runs (of some topics, with a ledger, …) the last one is known."""
FINDINGS_MOST = 10_000
"""Where a report has more, the next round compares everything."""


@dataclass(frozen=True)
class _Read:
    """How far the archive had come, what was erased, and which files the ledgers were."""

    archived: Offsets
    erased: set[tuple[str, int, int]]
    files: list[Any]


@dataclass(frozen=True)
class _Last:
    """A run: what was seen before it, what it read (see `_inputs_now`), its summary, and the slots it found something
    in (None: too many). When the last one began that compared everything, and how long that took (s)."""

    seen: Look
    read: _Read | None
    summary: dict[str, Any]
    found: Mapping[str, set[int | None]] | None
    began: float
    took_s: float

    @property
    def holds_s(self) -> float:
        """How long until it is time to compare everything."""
        most_s = min(WHOLE_MOST_S, max(WHOLE_EVERY_S, WHOLE_SHARE * self.took_s))
        return self.began + most_s - time.monotonic()


class Rounds:
    """The reconciliations of one session."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._last: dict[Inputs, _Last] = {}

    def reconcile(self, inputs: Inputs, progress: Progress = QUIET) -> dict[str, Any]:
        """As `reconcile.reconcile`. Where nothing has moved since the last run, the report is that one's, and its
        summary says so in ``same_as``. Raises `PipelineError`."""
        return self.reconcile_news(inputs, progress) or _again(self._session, inputs, self._last[_kind(inputs)])

    def whole_in_s(self, inputs: Inputs) -> float:
        """How long until everything is compared, whatever moves; without end where there was no run yet."""
        last = self._last.get(_kind(inputs))
        return last.holds_s if last else math.inf

    def reconcile_news(self, inputs: Inputs, progress: Progress = QUIET) -> dict[str, Any] | None:
        """The same; None, and no report, where nothing has moved."""
        began, kind, read = time.monotonic(), _kind(inputs), self._inputs_now(inputs)
        if inputs.anew or inputs.from_scratch:  # it may find what no look shows: then no other may say less
            self._last.clear()
        with progress.stage("look"):
            seen = look(inputs.options, inputs.stuck_ms, inputs.overdue_ms)
        last = self._last.pop(kind, None)
        known = last and last.holds_s > 0 and read is not None and last.read == read
        same = last and known and seen.is_as(last.seen)
        if last and same and _is_whole(_folder(inputs) / last.summary["run"]):
            self._last[kind] = last
            return None
        still = self._standing(last, seen, read, inputs) if last and last.holds_s > 0 else None
        summary = reconcile(self._session, inputs, progress, still)
        took_s = time.monotonic() - began
        if last and "slots" in summary["read"]:
            began, took_s = last.began, last.took_s
        self._last[kind] = _Last(seen, read, summary, self._found(inputs, summary), began, took_s)
        while len(self._last) > REMEMBERED:
            del self._last[next(iter(self._last))]
        return summary

    def _standing(self, last: _Last, seen: Look, read: _Read | None, inputs: Inputs) -> Standing | None:
        """What need not be compared. What a ledger speaks of may lie anywhere; and without a closing state nothing is
        known of what stands."""
        if (
            not inputs.archive
            or not seen_here(self._session)
            or inputs.ledgers
            or last.found is None
            or not (read and last.read)
            or read.erased != last.read.erased
        ):
            return None
        return standing(seen, last.seen, last.read.archived, last.found)

    def _found(self, inputs: Inputs, summary: dict[str, Any]) -> Mapping[str, set[int | None]] | None:
        if not summary["findings"]:
            return {}
        if summary["findings"] > FINDINGS_MOST:
            return None
        folder = f"{inputs.reports}/{summary['run']}/findings"
        return with_findings(literally(self._session).schema(FINDINGS).parquet(folder))

    def _inputs_now(self, inputs: Inputs) -> _Read | None:
        """None: not to be told, so nothing is the same."""
        if inputs.from_scratch or "://" in inputs.reports.removeprefix("file://"):
            return None
        archived, erased, files = dict[str, dict[str, str]](), set[tuple[str, int, int]](), list[Any]()
        if inputs.archive:
            if erasures.begun(self._session, inputs.archive):  # its report may name what is erased by now
                return None
            archived = Archive(self._session, inputs.archive).committed_offsets()
            erased = erasures.known(self._session, inputs.archive)
        for ledger in inputs.ledgers:
            try:
                status = Path(ledger).stat()
            except OSError:  # a table of a database, or a file elsewhere
                return None
            if not Path(ledger).is_file():
                return None
            files.append((status.st_ino, status.st_mtime_ns, status.st_size))
        return _Read(archived, erased, files)


def _kind(inputs: Inputs) -> Inputs:
    """What runs have in common that may be compared; a ledger may come under another name each time."""
    return replace(inputs, run="", anew=False, ledgers=tuple(Path(each).name for each in inputs.ledgers))


def _folder(inputs: Inputs) -> Path:
    return Path(inputs.reports.removeprefix("file://"))


def _is_whole(report: Path) -> bool:
    """Whether nobody has taken any of it away."""
    return all((report / part).exists() for part in (SUMMARY, *TABLES))


def _again(session: SparkSession, inputs: Inputs, repeated: _Last) -> dict[str, Any]:
    """The last report under another name; written as a report is, its summary last."""
    last, slots = repeated.summary, {"compared": 0, "of": len(repeated.seen.ledgers)}
    run, now_ms = inputs.run or name_of_run(), int(time.time() * 1000)
    before, folder = _folder(inputs) / last["run"], _folder(inputs) / run
    for table in TABLES:
        shutil.copytree(before / table, folder / table, dirs_exist_ok=True)
    same = {kind: {"appeared": 0, "stayed": n, "gone": 0} for kind, n in last["counts"].items()}
    every = last["read"].get("events_known", 0) + last["read"]["events"]
    summary = last | {
        **{"run": run, "started_ms": now_ms, "finished_ms": now_ms, "same_as": last["run"]},
        **{"compared_with": last["run"], "changes": same},
        "read": last["read"]
        | {"events": 0, "events_known": every, "looked_up": 0, "from_scratch": {}, "closed": None, "slots": slots},
    }
    write_text(session, f"{inputs.reports}/{run}/{SUMMARY}", json.dumps(summary, indent=1))
    return summary
