"""Whether a command has so little before it that Java need not learn to do it fast."""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rmq_core.pipeline.files import SCHEME
from rmq_core.pipeline.program import commands
from rmq_core.pipeline.sources.journal import JournalReader, Ranges
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.queues import QueuesReader, Slots

ENTRIES, MESSAGES, SLOTS = 5_000, 200_000, 5_000
"""At most: of journals, in queues, and that are looked at for that. An entry is of up to a thousand messages, mostly of
far fewer; of two million transitions the archive took longer with what Java compiles at once, no reconciliation."""


def is_brief(given: argparse.Namespace) -> bool:
    """As far as that can be seen before Spark starts."""
    if given.command not in ("archive", "reconcile") or given.every is not None:
        return False
    compares = given.command == "reconcile"
    if compares and (given.from_scratch or given.ledger or not _is_covered(given.archive)):
        return False
    with suppress(Exception):  # the command itself says what is wrong
        options = replace(commands.options_of(given), slots_per_partition=0, retry_for_ms=0)
        if sum(topic.slots for topic in options.journaled()) <= SLOTS:
            return _entries(options) <= ENTRIES and not (compares and _messages(options) > MESSAGES)
    return False


def _is_covered(archive: str | None) -> bool:
    """Whether there is a closing state, so that a reconciliation does not read the whole archive."""
    if archive is None:
        return True
    scheme = SCHEME.match(archive)
    if scheme and scheme[1].lower() != "file":
        return False
    with suppress(OSError):
        return any(Path(archive[scheme.end() if scheme else 0 :], "state").glob("*.json"))
    return False


def _entries(options: SourceOptions) -> int:
    parts = JournalReader(options).partitions()
    return sum(each.entries for part in parts if isinstance(part, Ranges) for each in part.ranges)


def _messages(options: SourceOptions) -> int:
    parts = QueuesReader(options).partitions()
    return sum(each.size for part in parts if isinstance(part, Slots) for each in part.places)
