"""Slots that a round need not compare: each stands as when it was compared last, and nothing was found in it.

What their queues hold is then not read, nor what the closing state carries of their messages; their ledgers are those
that were looked at. So a round costs what the slots hold in which something moves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmq_core.model.topic import Topic
from rmq_core.pipeline.jobs.look import Look, Slot, defined
from rmq_core.pipeline.schemas import QUEUES, ddl
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.decoding import position_of
from rmq_core.pipeline.sources.offsets import Offsets
from rmq_core.pipeline.sources.queue_rows import EDGES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rmq_core.pipeline.reading import History


class Moved(Exception):
    """Something of what stood was read by others meanwhile: all is to be compared."""


@dataclass(frozen=True)
class Standing:
    """The slots that stand, as they were ``seen``: what their ``ledgers`` said."""

    seen: Look
    ledgers: Mapping[Slot, dict[str, Any]]

    @property
    def moving(self) -> dict[str, tuple[int, ...]]:
        """The other slots, by topic."""
        found: dict[str, list[int]] = {topic: [] for topic in self.seen.topics}
        for topic, slot in self.seen.ledgers:
            if (topic, slot) not in self.ledgers:
                found[topic].append(slot)
        return {topic: tuple(slots) for topic, slots in found.items()}

    @property
    def counts(self) -> dict[str, int]:
        """For the report: how many slots are compared, and how many there are."""
        return {"compared": len(self.seen.ledgers) - len(self.ledgers), "of": len(self.seen.ledgers)}

    def rows(self, session: SparkSession) -> DataFrame:
        """What a reading of these slots would say of them as a whole (`schemas.QUEUES`)."""
        rows: list[tuple[Any, ...]] = []
        for (topic, slot), ledger in self.ledgers.items():
            text = json.dumps(ledger).encode()
            rows += [(topic, slot, edge, b"", None, text, self.seen.at_ms, None) for edge in EDGES]
        return small(session, rows, ddl(QUEUES))

    def check_defined(self, topics: Sequence[Topic]) -> None:
        """Raises `Moved` where these are not the topics that were seen."""
        if defined(topics) != self.seen.topics:
            raise Moved

    def check_covered(self, history: History) -> None:
        """Raises `Moved` where the closing state does not cover all that these slots had written."""
        state = history.state
        ends = state.archive.committed_offsets() if state else {}
        for (topic, slot), ledger in self.ledgers.items():
            covered = state.known.get(topic) if state else None
            known = covered.offsets.get(str(slot), "") if covered else ""
            reached = ends.get(topic, {}).get(str(slot), "")
            if covered is None or reached != known or position_of(known) != position_of(ledger["newest"]):
                raise Moved


def standing(seen: Look, before: Look, archived: Offsets, found: Mapping[str, set[int | None]]) -> Standing | None:
    """Those that stand since ``before``; None: none. ``archived``: how far the archive had come then; ``found``: slots
    with findings by topic, None for all of it."""
    moved = seen.moved(before)
    ledgers = {
        (topic, slot): ledger
        for topic, slot in seen.ledgers
        if (topic, slot) not in moved
        and found.get(topic, set()).isdisjoint({slot, None})
        and position_of(archived.get(topic, {}).get(str(slot), ""))
        == position_of((ledger := seen.ledger((topic, slot)))["newest"])
    }
    return Standing(seen, ledgers) if ledgers else None


def with_findings(findings: DataFrame) -> dict[str, set[int | None]]:
    """Slots by topic of whose queues a report says something; None where it is said of the topic. Of a message in a
    wrong slot both are meant. Gaps of journals are found without a look into queues."""
    from pyspark.sql import functions as F

    home = F.get_json_object("evidence", "$.home").cast("int").alias("home")
    found: dict[str, set[int | None]] = {}
    for row in findings.where("kind != 'journal_gap'").select("topic", "slot", home).distinct().collect():
        found.setdefault(row.topic, set()).update({row.slot} if row.home is None else {row.slot, row.home})
    return found
