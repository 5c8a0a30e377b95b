"""Erases what an archive and its closing state hold of some messages, as a person may demand.

So goes what other messages say of them (`mentions`). A message that Redis still has in some way, or that such a message
tells of, is left alone, and named: what comes next would tell of it again. The
order makes it safe to be killed anywhere: folders that do not count yet, the record, the closing state, then all
folders at once. What is stopped before that is run again; afterwards the next job ends it (`begun_erasures`): again the
closing state, for a run may have closed meanwhile, then what the folders replace, and last the record: that it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rmq_core.errors import ConfigurationError, PipelineError
from rmq_core.model.ids import id_to_text
from rmq_core.ops.mentions import Gone
from rmq_core.pipeline.archive import data_set, erasures, mentions, redacted
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.bases import messages_of
from rmq_core.pipeline.archive.lock import ArchiveLock, RestoreLock
from rmq_core.pipeline.archive.staging import staging, sweep
from rmq_core.pipeline.files import seen_here
from rmq_core.pipeline.jobs import erased_reports
from rmq_core.pipeline.jobs.begun_erasures import end_all
from rmq_core.pipeline.jobs.living import Place, living
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.restoring.under_way import break_off
from rmq_core.pipeline.schemas import EVENTS
from rmq_core.pipeline.sentences import plain_errors
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.journal import JournalSource
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.state.erased import forget, matching_rows, newest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rmq_core.pipeline.state.erased import Matching

STAGES = ("find", "mentions", "check", "rewrite", "forget", "remove")
MOST = 100_000
"""Messages that one run erases."""
NAMED_MOST = 20
WHY = {
    "redis": "still in Redis: cancel or drop it there, and let the topic's undo_ms go by (or empty its trash)",
    "journal": "its journal says more of it than the archive: run archive first",
    "mention": "{by} tells of it, and is not over: when it is (or was taken out), run archive, then this again",
}


@dataclass(frozen=True)
class Left:
    """A message that was not erased, and why (`WHY`); ``by``: the message that tells of it."""

    topic: str
    id: str
    why: str
    by: str = ""


class _Mention(NamedTuple):
    """Who tells of a message that is to go, and on which day."""

    place: Place
    date: str
    gone: tuple[str, bytes]


@dataclass(frozen=True)
class Erased:
    """``messages``, ``transitions`` of them, on so many ``days`` of topics; ``open``: rows of the closing state.
    ``mentioning``: so many other messages told of them, and do no more. ``record``: the name of the record; None:
    nothing was to be erased, or it was only counted."""

    messages: int
    transitions: int
    days: int
    open: int
    left: tuple[Left, ...] = field(default=())
    record: str | None = None
    mentioning: int = 0

    def sentences(self) -> list[str]:
        """For people: what is not erased."""
        said = [f"{each.topic}: {each.id} stays, {WHY[each.why].format(by=each.by)}" for each in self.left[:NAMED_MOST]]
        more = len(self.left) - NAMED_MOST
        return said + ([f"… and {more} more"] if more > 0 else [])


def erase(
    session: SparkSession,
    options: SourceOptions,
    path: str,
    *,
    ids: Collection[bytes] = (),
    slot_bases: Collection[bytes] = (),
    reason: str = "",
    reports: str | None = None,
    dry_run: bool = False,
    progress: Progress = QUIET,
) -> Erased:
    """Erases messages with these ids, and those with these slot bases, from the topics of ``options`` (and their
    groups; all without any) in the archive at ``path``, and what reports in the folder ``reports`` say of them.

    Raises `PipelineError`; `ConfigurationError` where nothing is named.
    """
    if not (ids or slot_bases) or b"" in (*ids, *slot_bases):
        raise ConfigurationError("name what to erase: ids, or slot bases, which are not empty")
    if not seen_here(session):
        raise PipelineError("nothing is erased over Spark Connect: it cannot delete folders")
    session.dataSource.register(JournalSource)
    with ArchiveLock(options) as one, RestoreLock(options, wait_ms=0) as other, plain_errors("erasing stopped"):
        kept = Archive(session, path)
        data_set.check(options, kept)
        if not dry_run:
            break_off(options)
            sweep(kept)
            end_all(kept, options.namespace)

        def check() -> None:
            one.check()
            other.check()

        pinned = kept.pinned()
        with ExitStack() as stack:
            if not dry_run and pinned.until is not None:
                check = stack.enter_context(staging(kept, check)).check
            run = _Run(session, options, pinned, progress, reports, check)
            return run.run(ids, slot_bases, reason, dry_run=dry_run)


class _Run:
    """One job, while nobody else writes to the archive."""

    def __init__(
        self,
        session: SparkSession,
        options: SourceOptions,
        kept: Archive,
        progress: Progress,
        reports: str | None,
        check: Callable[[], None],
    ) -> None:
        self._session, self._options, self._kept, self._progress = session, options, kept, progress
        self._reports, self._check = reports, check
        """The second raises where another job has the archive, or had it since: what that one made stays."""
        self._slots: dict[tuple[str, bytes], set[int]] = {}
        """Of messages that are named by a slot basis: the same id in another slot is somebody else's."""

    def run(self, ids: Collection[bytes], bases: Collection[bytes], reason: str, *, dry_run: bool) -> Erased:
        with self._progress.stage("find", self._session):
            rows, others = self._found(ids, bases)
            asked = self._asked(rows, others, ids, bases)
        with self._progress.stage("mentions", self._session):
            several = self._mentions(asked)
        with self._progress.stage("check", self._session):
            busy = self._busy(rows, several, asked)
        gone = replace(asked, messages=asked.messages - busy.keys(), kept=asked.kept | busy.keys())
        days = sorted(
            {(row.topic, row.date) for row in rows if gone.has(row.of, bytes(row.id))}
            | {(each.place.topic, each.date) for each in several if each.gone not in busy}
        )
        tellers = {each.place.message for each in several if each.gone not in busy} - gone.messages
        # A killed run may have got no farther than the archive's rows: what the state knows of these ids goes, too.
        named = gone.messages | {(topic, id) for topic in self._topics(rows) for id in ids if (topic, id) not in busy}
        frame = self._messages(named)
        counted = Erased(
            len(gone.messages),
            sum(row.n for row in rows if gone.has(row.of, bytes(row.id))),
            len(days),
            self._open(frame),
            tuple(busy[each] for each in sorted(busy)),
            mentioning=len(tellers),
        )
        if dry_run:
            return counted
        live, name = replace(self._kept, until=None, notes=None), erasures.new_name()
        with self._progress.stage("rewrite", self._session):
            notes = redacted.write(self._kept, days, self._marked(frame, gone), self._check, name) if days else []
            begun = None
            self._check()
            if days or counted.open:
                begun = erasures.begin(
                    *(self._session, self._kept.path, reason, gone.messages or named, len(days), tellers),
                    name=name,
                    transitions=counted.transitions,
                    slots={each: slots for each, slots in self._slots.items() if each in gone.messages},
                    reports=self._reports,
                )
        with self._progress.stage("forget", self._session):
            contents = self._contents(tellers, days, gone) if tellers else None
            of_gone, of_tellers = _matching(frame), _matching(self._messages(tellers))
            forget(live, None, of_gone, contents)
            if notes:
                self._check()  # else the next job ends what has begun
                redacted.commit(self._kept, notes)
        with self._progress.stage("remove", self._session):
            if begun:
                begun = erasures.apply(self._session, self._kept.path, begun)
                # What a run that had begun before has closed meanwhile; from `apply` on it is refused.
                forget(live, name, of_gone, contents)
            redacted.sweep(live, self._check)
            if self._reports:
                reports = (self._session, self._reports, self._options.namespace, of_gone, of_tellers)
                erased_reports.forget(*reports, between=begun is not None)
            if begun:
                erasures.end(self._session, self._kept.path, begun, counted.transitions)
        return replace(counted, record=begun.name if begun else None)

    def _asked(
        self, rows: list[Any], others: frozenset[tuple[str, bytes]], ids: Collection[bytes], bases: Collection[bytes]
    ) -> Gone:
        """All that would go, were nothing of it in use. ``others``: what stays, as it is of another slot basis."""
        messages = frozenset((row.of, bytes(row.id)) for row in rows)
        days = sorted({(row.topic, row.date) for row in rows})
        own = redacted.of_messages(redacted.of_days(self._kept, days), self._messages(messages), "inner")
        return Gone(
            messages,
            frozenset(ids),
            frozenset(bases),
            frozenset(name.partition("@")[0] for name in self._options.topics) or None,
            others,
            told=mentions.told(own),
            topics=mentions.definitions(self._kept),
        )

    def _mentions(self, asked: Gone) -> list[_Mention]:
        rows = mentions.found(self._kept.read(), asked).limit(MOST + 1).collect()
        if len(rows) > MOST:
            raise PipelineError(f"more than {MOST:,} messages tell of these: name fewer at a time")
        return [_Mention(Place(r.topic, r.slot, bytes(r.id)), r.date, (r.of, bytes(r.gone))) for r in rows]

    def _busy(self, rows: list[Any], several: list[_Mention], asked: Gone) -> dict[tuple[str, bytes], Left]:
        """What stays: it is not over, or somebody who tells of it is not."""
        places = {Place(row.topic, row.slot, bytes(row.id)) for row in rows} | {each.place for each in several}
        found = living(self._options, self._kept, places, asked)
        tell = [(each.place, each.gone) for each in several if each.place.message in found.messages] + found.news
        busy = {
            each: Left(each[0], id_to_text(each[1]), "mention", f"{place.topic}: {id_to_text(place.id)}")
            for place, each in sorted(tell)
        }
        for each, why in found.messages.items():
            if each in asked.messages:
                busy[each] = Left(each[0], id_to_text(each[1]), why)
        return busy

    def _marked(self, frame: DataFrame, gone: Gone) -> Callable[[DataFrame], DataFrame]:
        """What `redacted.write` is to do."""
        hit = redacted.those(frame)

        def marked(events: DataFrame) -> DataFrame:
            names = [name for name, _, _ in EVENTS]
            return mentions.without(hit(events).select(*names, "hit"), gone, "hit boolean")

        return marked

    def _contents(self, tellers: Collection[tuple[str, bytes]], days: list[redacted.Day], gone: Gone) -> Any:
        """Of tellers that are open in the closing state (those were lost), which contents change; None: no state has
        any of them."""
        frame = self._messages(tellers)
        if not self._open(frame):
            return None
        own = redacted.of_messages(redacted.of_days(self._kept, days), frame, "left_semi")
        return mentions.changed(own, gone).localCheckpoint()

    def _found(
        self, ids: Collection[bytes], bases: Collection[bytes]
    ) -> tuple[list[Any], frozenset[tuple[str, bytes]]]:
        """Rows (``of`` topic, ``topic``, ``date``, ``slot``, ``id``, ``n``) of what the archive has of them; and the
        messages that only have one of the slot bases for an id."""
        from pyspark.sql import functions as F

        events = self._kept.read().withColumn("of", redacted.base_of("topic"))
        if self._options.topics:
            events = events.where(F.col("of").isin([name.partition("@")[0] for name in self._options.topics]))
        known = messages_of(events, ids, bases).limit(MOST + 1).collect()
        slots: dict[tuple[str, bytes], set[int | None]] = {}
        for row in known:
            slots.setdefault((row.of, bytes(row.id)), set()).update([row.slot] if row.named else [])
        self._slots = {
            message: {slot for slot in several if slot is not None}
            for message, several in slots.items()
            if several and None not in several
        }
        named = {message for message, several in slots.items() if several}
        if len(known) > MOST:
            raise PipelineError(f"that is more than {MOST:,} messages: name some of them, or one topic, at a time")
        rows = redacted.of_messages(events.drop("of"), self._messages(named), "inner")
        counted = rows.groupBy("of", "topic", "date", "slot", "id").agg(F.count("*").alias("n")).collect()
        return list(counted), frozenset(slots.keys() - named)

    def _messages(self, several: Collection[tuple[str, bytes]]) -> DataFrame:
        rows = [(*message, slot) for message in sorted(several) for slot in self._slots.get(message, [None])]
        return small(self._session, rows, "of string, gone binary, within int")

    def _topics(self, rows: list[Any]) -> set[str]:
        names = self._options.topics or [*self._kept.committed_offsets()]
        return {name.partition("@")[0] for name in names} | {row.of for row in rows}

    def _open(self, gone: DataFrame) -> int:
        """Rows of the newest closing state that tell of these messages."""
        return matching_rows(newest(self._kept), _matching(gone))


def _matching(several: DataFrame) -> Matching:
    return lambda rows, how: redacted.of_messages(rows, several, how)
