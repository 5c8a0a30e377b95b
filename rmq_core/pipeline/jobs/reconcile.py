"""Did every message do what it should? Archive and journals × live queues × the business's ledger → a report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.model.topic import Journal, Topic
from rmq_core.pipeline import files
from rmq_core.pipeline.archive import data_set, erasures, positions
from rmq_core.pipeline.archive.archived import Archive, deleted_since
from rmq_core.pipeline.findings import business as of_business
from rmq_core.pipeline.findings import contents, counters, doubted, gaps, groups, repair_data, verdicts
from rmq_core.pipeline.findings.confirm import confirmed
from rmq_core.pipeline.findings.ledger import Ledger, read_ledgers, shown
from rmq_core.pipeline.jobs import report, sums
from rmq_core.pipeline.jobs.begun_erasures import end_begun
from rmq_core.pipeline.jobs.judged import Judged, Repeated, judge, told
from rmq_core.pipeline.jobs.standing import Moved, Standing
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.reading import History, StoredTables, load
from rmq_core.pipeline.sentences import plain_errors, with_retries
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.state import merging
from rmq_core.pipeline.state.closing import ERASED_MEANWHILE
from rmq_core.pipeline.tuning import FEW_ENTRIES, FEW_ROWS, few_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TAKEN_AWAY = "its tables in {folder} were taken away meanwhile, as an erasure or who clears up does: run it again"
STAGES = ("snapshot", "journals", "replay", "findings", "report")


@dataclass(frozen=True)
class Inputs:
    """What a reconciliation compares. ``stuck_ms``, ``overdue_ms``: how late a delivery may be before that counts.
    ``since_ms``, ``until_ms``: the time the ledgers speak of, and are complete until; None: what they say themselves.
    ``from_scratch``: all of the archive is read, whatever the closing state knows. ``anew``: among runs in one session
    (`Rounds`) the queues are compared even where nothing has moved."""

    options: SourceOptions
    archive: str | None
    reports: str
    ledgers: tuple[str, ...] = ()
    run: str = ""
    stuck_ms: int = verdicts.STUCK_MS
    overdue_ms: int = verdicts.OVERDUE_MS
    since_ms: int | None = None
    until_ms: int | None = None
    from_scratch: bool = False
    anew: bool = False


def reconcile(
    session: SparkSession, inputs: Inputs, progress: Progress = QUIET, standing: Standing | None = None
) -> dict[str, Any]:
    """Writes a report below ``inputs.reports`` and returns its summary. ``standing``: slots that are not compared; all
    are, where that cannot be. Raises `PipelineError`."""
    started_ms = int(time.time() * 1000)
    run = inputs.run or report.name_of_run()
    with plain_errors("the reconciliation stopped"):
        # Started again it looks at everything again, and writes over what it had written.
        if standing is not None:
            with suppress(Moved):
                return with_retries(lambda: _reconcile(session, inputs, progress, run, started_ms, standing))
        return with_retries(lambda: _reconcile(session, inputs, progress, run, started_ms))


def _reconcile(
    session: SparkSession,
    inputs: Inputs,
    progress: Progress,
    run: str,
    started_ms: int,
    standing: Standing | None = None,
) -> dict[str, Any]:
    topics = inputs.options.journaled()
    if not topics:
        raise PipelineError(_nothing_defined(session, inputs))
    if standing:
        standing.check_defined(topics)
    if inputs.archive:
        data_set.check(inputs.options, Archive(session, inputs.archive))
        end_begun(inputs.options, Archive(session, inputs.archive))
    kept, folder = StoredTables(session, f"{inputs.reports}/{run}/{report.WORK}"), inputs.archive or ""
    erased = erasures.known(session, folder) if inputs.archive else None
    whose = f"{kept.folder}/{report.WHOSE}"
    files.remove(session, f"{inputs.reports}/{run}/{report.SUMMARY}")  # one of that name counts no longer
    files.write_text(session, whose, inputs.options.namespace)
    try:
        return _reported(session, inputs, progress, run, started_ms, kept, topics, standing)
    except BaseException as error:  # also when it is asked to end
        failed = isinstance(error, Exception)
        erasing = failed and inputs.archive and erasures.known(session, folder) != erased
        taken = failed and files.read_text(session, whose) is None
        with suppress(Exception):  # the first error says more
            for table in (report.WORK, *report.TABLES):
                files.remove(session, f"{inputs.reports}/{run}/{table}")
        if erasing:
            raise PipelineError(ERASED_MEANWHILE) from error
        if taken:
            raise PipelineError(TAKEN_AWAY.format(folder=kept.folder)) from error
        raise


def _reported(
    session: SparkSession,
    inputs: Inputs,
    progress: Progress,
    run: str,
    started_ms: int,
    kept: StoredTables,
    topics: list[Topic],
    standing: Standing | None,
) -> dict[str, Any]:
    names = [topic.name for topic in topics]
    ledger = None
    if inputs.ledgers:  # before anything else: what is promised later has not been sent yet
        ledger = _ledger(session, inputs, names, kept)
    only = standing.moving if standing else None
    options = replace(inputs.options, only=only)
    with progress.stage("snapshot", session) as step:
        queues = load(session, options, "rmq_queues")
        queues = queues.union(standing.rows(session)) if standing else queues
        snapshot, in_queues = kept.write_counted("snapshot", queues)
        step.rows = in_queues
    with progress.stage("journals", session) as step:
        journal, in_journals = kept.write_counted("journal", load(session, options, "rmq_journal"))
        step.rows = in_journals
        archive = Archive(session, inputs.archive).pinned() if inputs.archive else None
        history = History(session, names, archive, journal, inputs.options.deletions())
        now = Archive(session, inputs.archive).committed_offsets if inputs.archive else dict
        committed = positions.committed(inputs.options, topics, inputs.archive, now)
        readers = small(session, committed, gaps.READERS)
        reached = small(session, archive.reached(deletions=history.deletions) if archive else [], gaps.REACHED)
    history.open({"*": "asked"} if inputs.from_scratch else {})
    if standing:
        standing.check_covered(history)
        history.only = only
    is_little = ledger is None and history.entries_behind() <= FEW_ENTRIES and in_queues + in_journals <= FEW_ROWS
    settings = partial(few_rows, session) if is_little else nullcontext
    with settings():
        with progress.stage("replay", session):
            judged = Judged(topics, inputs, kept, readers, reached, every=ledger is not None)
            found = _without_repetition(judged, snapshot, history, ledger)
        with progress.stage("findings", session):
            found, count = _held(found, kept, inputs, is_little=is_little, has_ledger=ledger is not None)
            found = doubted.withheld(found, history.state.doubted if history.state else ())
            written = report.write_findings(found, f"{inputs.reports}/{run}", count)
    with progress.stage("report", session):
        with settings():
            read = sums.written(kept, history, f"{inputs.reports}/{run}", run)
        if history.state and read["closed"]:  # whatever is little here, what was known before may be much
            merging.merge_newest(history.state, run, read["closed"])
        with settings():
            sums.tell(kept, history)
            if standing:
                read["slots"] = standing.counts
            described = _described(inputs, names, ledger)
            if ledger is not None and ledger.says_contents:
                described["of_ledger"]["contents"] = contents.as_json(kept.read("contents"), written)
            return report.summarize(session, inputs.reports, run, started_ms, written, described, kept.folder, read)


def _held(
    found: DataFrame, kept: StoredTables, inputs: Inputs, *, is_little: bool, has_ledger: bool
) -> tuple[DataFrame, int]:
    """The findings that still hold, and how many there are at most (0: few). Many are stored, to be sorted by range."""
    suspected = kept.has_rows("suspects")
    if not suspected and not has_ledger:  # at most one of each slot
        return found, 0
    found = kept.write_seldom("findings", found)
    count = 0 if is_little or not kept.has_rows("findings") else found.count()
    if suspected:
        found = confirmed(found, inputs.options)
        found = kept.write("confirmed", found) if count > report.AT_ONCE else found
    return found, count


def _without_repetition(judged: Judged, snapshot: DataFrame, history: History, ledger: Ledger | None) -> DataFrame:
    """What is found with the closing state, as far as it holds."""
    scratch = dict(history.state.scratch) if history.state else {}
    while True:
        try:
            return findings(judged, snapshot, history, ledger)
        except Repeated as error:
            if history.only is not None:  # of all slots of these topics everything is wanted then
                raise Moved from error
            scratch |= dict.fromkeys(error.topics, "twice")
            history.open(scratch)


def _ledger(session: SparkSession, inputs: Inputs, names: list[str], kept: StoredTables) -> Ledger:
    defined = [topic.name for topic in replace(inputs.options, topics=()).journaled()]
    found = read_ledgers(session, inputs.ledgers, names, defined).within(inputs.since_ms, inputs.until_ms)
    rows = kept.write("ledger", found.rows)
    promises = erasures.without_erased(rows, inputs.archive) if inputs.archive else None
    return replace(found, rows=rows, promises=promises)


def findings(judged: Judged, snapshot: DataFrame, history: History, ledger: Ledger | None = None) -> DataFrame:
    """Every finding, unconfirmed. Stores what `judge` does. Raises `Repeated`."""
    session, kept, topics = history.session, judged.kept, judged.topics
    judge(judged, snapshot, history)
    slot_ledgers, holes, suspects, messages = map(kept.read, ("slot_ledgers", "holes", "suspects", "messages"))
    miscounted = counters.miscounted(kept.read("accounts"), kept.read("whole"), slot_ledgers, suspects)
    several = [
        verdicts.ledgers(slot_ledgers, suspects, [each.name for each in topics if each.is_stream], miscounted, holes),
    ]
    if any(topic.is_group for topic in topics):
        several.append(groups.moved_by_hand(kept.read("accounts"), kept.read("whole"), slot_ledgers))
    if kept.has_rows("suspects"):
        several += [
            verdicts.misplaced(suspects, holes, {topic.name: topic.slots for topic in topics}),
            verdicts.impossible(suspects),
            verdicts.orphans(suspects),
            verdicts.stuck(suspects),
            verdicts.overdue(suspects),
        ]
    if ledger is not None:
        silent = [topic.name for topic in topics if topic.journal is Journal.OFF]
        named = [row.topic for row in ledger.rows.select("topic").distinct().collect()]
        holes = holes.union(gaps.of_topics(session, sorted({*silent} & {*named}), "off"))
        here = messages.where(verdicts.in_a_queue())
        misplaced = suspects.where("misplaced IS NOT NULL")
        # What a ledger speaks of, no closing state remembers.
        events = history.whole(named, ledger.since_ms)
        compared = kept.write("contents", contents.compared(ledger, events, holes)) if ledger.says_contents else None
        several.append(of_business.business(ledger, events, here, holes, misplaced, compared))
    every = not judged.limits.options.topics
    if every and (unknown := _undefined(history.archive, history.deletions, history.topics)):
        several.append(gaps.findings(gaps.of_topics(session, unknown, "undefined")))
    if ledger is not None or kept.has_rows("holes"):
        several.append(gaps.findings(holes))
    result = several[0]
    for more in several[1:]:
        result = result.union(more)
    if not kept.has_rows("suspects"):  # of a slot there is nothing to attach, nor to look at again
        return result
    kinds = {topic.name: topic.timed for topic in topics}
    bare = kept.write_seldom("bare_findings", result)
    return repair_data.attached(bare, suspects, told(judged, history), kinds)


def _nothing_defined(session: SparkSession, inputs: Inputs) -> str:
    """Why there is nothing to compare, in a sentence."""
    said = f"no topic is defined in the namespace {inputs.options.namespace!r}"
    archive = Archive(session, inputs.archive) if inputs.archive else None
    if unknown := _undefined(archive, inputs.options.deletions()):
        said += f", though the archive has {len(unknown)}: the server has lost its data; restore what the archive holds"
    return said


def _undefined(archive: Archive | None, deletions: dict[str, int], defined: Sequence[str] = ()) -> list[str]:
    """Topics that the archive has, that nobody deleted, and that are not ``defined``."""
    if archive is None:
        return []
    topics = archive.definitions()
    return sorted({topic.name for topic in topics} - deleted_since(topics, deletions) - {*defined})


def _described(inputs: Inputs, names: list[str], ledger: Ledger | None) -> dict[str, Any]:
    return {
        "namespace": inputs.options.namespace,
        "topics": names,
        "archive": inputs.archive,
        "ledger": ", ".join(map(shown, inputs.ledgers)) or None,
        "of_ledger": ledger and ledger.as_json(),
        "stuck_ms": inputs.stuck_ms,
        "overdue_ms": inputs.overdue_ms,
    }
