"""Runs of the data pipeline: start, follow, stop."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any, Literal

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Router, Schema, Status
from ninja.params.functions import Query
from pydantic import AfterValidator, Field

from console.access import NEEDED, Action, Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.cursors import LONGEST, cursor_of, ident_in
from console.api.http.errors import ApiError, invalid
from console.api.http.lists import readable
from console.api.http.schemas import ID_MAX, Confirm, Limit, Name, Reason, Strict, Text
from console.clock import now_ms
from console.models import Reconciliation
from console.serializers import runs as shapes
from console.usecases.runs import archive_records, erasing, run_places, runs
from console.usecases.runs.clean import clean_topics
from console.usecases.runs.runs import RunRequest
from rmq_core.errors import UnknownTopic
from rmq_core.model.text import check_name

router = Router(tags=["reconciliation"])
Ledger = Annotated[str, AfterValidator(lambda name: check_name(name, least=0))]
Kind = Literal["reconcile", "archive", "restore", "erase"]


Idents = list[Annotated[Text, Field(min_length=1, max_length=ID_MAX)]]
Topics = list[Annotated[Name, Field(max_length=100)]]


class RunBody(Strict):
    """`topics` empty: all of them. `confirm`: the word “restore”, where messages are to be put back. Of a restore,
    `dry_run`: only count; `into`: fill this namespace, which nobody uses, and leave ours alone, with what was there
    at `at_ms` (else: now). Of an erasure, whose messages: `ids`, `slot_bases`, or those that the run `preview` has
    counted, of the same topics; `dry_run`: only count; else `confirm` is the word “erase”, and there is a reason. Of a
    reconciliation, `from_scratch`: read all of the archive, whatever the run before knew."""

    kind: Kind = "reconcile"
    topics: Topics = Field([], max_length=500)
    ledger: Ledger = Field("", max_length=200, description="The name of a business ledger on the server.")
    reason: Reason = ""
    confirm: Confirm = Field("", max_length=40)
    dry_run: bool = False
    into: Ledger = Field("", max_length=64, description="A namespace to rehearse in.")
    at_ms: int | None = Field(None, ge=0, le=2**53)
    ids: Idents = Field([], max_length=erasing.NAMES_MOST)
    slot_bases: Idents = Field([], max_length=erasing.NAMES_MOST)
    preview: uuid.UUID | None = None
    from_scratch: bool = False


class Stage(Schema):
    """Once it is over, and where it counts them: its `rows`, the bytes of files it read, and those that its tasks
    handed on to others."""

    name: str
    since_ms: int
    done: int
    total: int
    rows: int | None
    read_bytes: int | None
    shuffled_bytes: int | None


class Waited(Schema):
    """The run that keeps others waiting, and its present stage."""

    kind: Kind
    stage: str
    since_ms: int | None


class Run(Schema):
    """A run. `complete` false: journals had gaps, and of what is missing nothing is said. `counts`: findings by kind,
    `listed`: so many of the `findings` can be read here, the others are in the report. `without_journal`: of a run over
    all topics, those it says nothing of, for their journal is off. `waits_for`: of one that is queued, the run before
    it; null where it waits for a job worker."""

    id: str
    kind: Kind
    topics: list[str]
    ledger: str
    dry_run: bool
    into: str
    at_ms: int | None
    from_scratch: bool
    state: Literal["queued", "running", "stopping", "stopped", "done", "failed"]
    percent: int
    stages: list[Stage]
    waits_for: Waited | None
    error: str
    complete: bool | None
    findings: int
    listed: int
    counts: dict[str, int]
    without_journal: list[str]
    user: str
    via: str
    reason: str
    created_ms: int
    started_ms: int | None
    finished_ms: int | None


class Runs(Schema):
    runs: list[Run]
    next: str | None
    as_of_ms: int


class CauseCount(Schema):
    """`cause`: `with_server`, `counters`, or a name and values out of the evidence, as in `what:due_ms,priority`."""

    cause: str
    n: int


class Group(Schema):
    """Findings of one kind, topic and repair: `n` of them, `open` of which nobody has started to repair; and the most
    frequent `causes`."""

    kind: str
    topic: str
    repair: str
    n: int
    open: int
    causes: list[CauseCount]


class Waits(Schema):
    """For what a run waits that has not begun: `ahead` of it so many wait, and one of `running_kind` is at work; null:
    no job worker has taken one, which takes seconds where it is started for that."""

    ahead: int
    running_kind: str | None
    running_since_ms: int | None


class Left(Schema):
    """A message that stays; `why`: `redis`, it is still there; `journal`: it says more of it than the archive;
    `mention`: another one, that is not over, tells of it. `id` is null for callers who may not read content."""

    topic: str
    id: str | None
    why: str


class Erased(Schema):
    """What an erasure erased, or would: `messages`, `transitions` of them on so many `days` of topics in the archive,
    `open` rows of the closing state, and in the console rows of the `records` and `findings`; so many other messages
    told of them: `mentioning` in the archive, `record_mentions` in the record. `left`: those that stay, the first of
    `left_n`. `preview`: whether it still knows whose they are, so that they can be erased."""

    messages: int
    transitions: int
    days: int
    open: int
    records: int
    findings: int
    mentioning: int
    record_mentions: int
    left: list[Left]
    left_n: int
    preview: bool


class LetGo(Schema):
    """What an archive forgot of a topic that wants it no longer (`archive_for_ms`): of days before `before`, which were
    `days` of them, so many transitions; their files are smaller by `freed_bytes`."""

    topic: str
    before: str
    days: int
    transitions: int
    freed_bytes: int


class Archived(Schema):
    """Transitions written (`rows`), journal entries trimmed, folders joined, forgotten; `let_go`: by topic."""

    rows: int
    trimmed: int
    compacted: int
    forgotten: int
    let_go: list[LetGo]


class Retained(LetGo):
    """The same, and when it was."""

    at_ms: int


class ErasureDone(Schema):
    """An erasure, also from the command line. `done_ms` null: it was stopped in the middle. `mentioning`: so many other
    messages told of what was erased, and do no more."""

    begun_ms: int
    done_ms: int | None
    reason: str
    topics: list[str]
    messages: int
    transitions: int
    days: int
    mentioning: int


class Forgetting(Schema):
    """Newest first. `damaged`: records of the archive (files in it) that cannot be read, so that nobody knows here what
    they say. `here` false: the archive is not a folder of this machine, and its own records are not read."""

    erasures: list[ErasureDone]
    let_go: list[Retained]
    damaged: list[str]
    here: bool
    as_of_ms: int


class Detail(Run):
    """`tables`: the report's figures, a row per topic. `changes`: by kind, against the run before. `ledger_left_out`:
    rows of the business ledger about other topics, `{rows, topics}`. `restored`: of a restore,
    `{back, present, said, counts}`: copies put back (or to be), copies that were there, sentences (what was left out,
    and why), and copies by topic and state. `erased`: of an erasure; `archived`: of an archive. `read`: `events`,
    transitions that were read; `known`, those that a run before had closed the books on; `from_scratch`: topics of
    which all was read, and why; `slots`, `{compared, of}` where only the queues of slots were compared in which
    something had moved, else null. `same_as`: the run whose report this one repeats, for nothing had moved since."""

    gaps: list[Any]
    read: dict[str, Any] | None
    changes: Any
    compared_with: str | None
    same_as: str | None
    ledger_left_out: dict[str, Any] | None
    restored: dict[str, Any] | None
    erased: Erased | None
    archived: Archived | None
    tables: list[dict[str, Any]]
    waits: Waits | None
    groups: list[Group]
    as_of_ms: int


class Point(Schema):
    """A finished reconciliation as a point of a chart: its findings, and the figures of each topic."""

    id: str
    at_ms: int | None
    findings: int
    topics: list[dict[str, Any]]


class Trend(Schema):
    runs: list[Point]


class CleanTopic(Schema):
    """Its last reconciliation, `run`, ended `at_ms` with so many `findings`; `complete` false: its journal had gaps.
    `clean_since_ms`: from then on no run found anything, or lacked anything; null: the last one did."""

    topic: str
    clean_since_ms: int | None
    at_ms: int
    run: str
    findings: int
    complete: bool


class Clean(Schema):
    topics: list[CleanTopic]
    as_of_ms: int


class Ledgers(Schema):
    ledgers: list[str]


Before = Query(None, max_length=LONGEST, description="The `next` of the page before.")


@router.get("", response=Runs, url_name="reconciliations", summary="Runs, newest first")
def listed(
    request: HttpRequest, kind: Kind | None = None, limit: Limit = 50, cursor: str | None = Before
) -> dict[str, Any]:
    """`kind` leaves only runs of one job. A token for some topics sees runs that are about those alone."""
    caller = looker(request)
    rows = Reconciliation.objects.defer("tables")
    if kind:
        rows = rows.filter(kind=kind)
    query = ("runs", kind or "")
    if cursor is not None:
        last = Reconciliation.objects.filter(pk=ident_in(cursor, *query)).first()
        if last is None:
            raise invalid("cursor", "the run it names is no longer kept; begin again without it")
        rows = rows.filter(Q(created__lt=last.created) | Q(created=last.created, pk__lt=last.pk))
    seen = (each for each in rows.iterator(chunk_size=500) if runs.may_see(caller.user, each))
    some = list(islice(seen, limit + 1))
    following = cursor_of(some[limit - 1].pk, *query) if len(some) > limit else None
    before = runs.under_way()
    shown = readable(Run, some[:limit], lambda run: shapes.run_json(run, before))
    return {"runs": shown, "next": following, "as_of_ms": now_ms()}


@router.post("", response={202: Run}, url_name="reconciliation-start", summary="Start a run")
def start(request: HttpRequest, response: HttpResponse, body: RunBody) -> Any:
    """It goes on by itself: follow it at its own address. A reconciliation that is asked for compares all queues, also
    where nothing has moved since the last one; one of a schedule may repeat that one's report (`same_as`)."""
    caller = caller_of(request)
    topics, names = tuple(body.topics), None
    if body.ids or body.slot_bases:
        names = erasing.Names(tuple(body.ids), tuple(body.slot_bases))
    if body.preview is not None:
        if names or topics or body.kind != "erase":
            raise invalid("preview", "it says itself whose messages, and of which topics; it is of an erasure")
        caller.require(NEEDED[Action.ERASE])
        before = run_of(caller, body.preview)
        topics, names = tuple(before.topics), erasing.names_of(before)
    asked = (body.kind, topics, body.ledger, body.reason, body.confirm)
    wanted = RunRequest(*asked, body.dry_run, body.into, body.at_ms, names, body.from_scratch)
    try:
        run = runs.start(caller.actor, wanted)
    except UnknownTopic as error:
        raise invalid("topics", str(error)) from None
    response["Location"] = reverse("console-api:reconciliation", kwargs={"ident": run.pk})
    return Status(202, shapes.run_json(run, runs.under_way()))


@router.get("/trend", response=Trend, url_name="reconciliation-trend", summary="Figures of the newest reconciliations")
def trend(request: HttpRequest) -> dict[str, Any]:
    """Oldest first."""
    return {"runs": [shapes.trend_json(run) for run in runs.trend(looker(request).user)]}


@router.get("/forgotten", response=Forgetting, url_name="reconciliation-forgotten", summary="What the archive let go")
def forgotten(request: HttpRequest, limit: Limit = 50) -> dict[str, Any]:
    """What was erased, and what was kept for as long as its topic wants."""
    caller = looker(request)
    return {
        "erasures": [
            asdict(each) | {"mentioning": each.mentioning} for each in archive_records.erasures(caller.user)[:limit]
        ],
        "damaged": archive_records.damaged()[:limit],
        "let_go": archive_records.let_go(caller.user)[:limit],
        "here": archive_records.archive_folder() is not None,
        "as_of_ms": now_ms(),
    }


@router.get("/clean", response=Clean, url_name="reconciliation-clean", summary="Since when each topic is clean")
def clean(request: HttpRequest) -> dict[str, Any]:
    """As far as runs are kept."""
    return {"topics": clean_topics(looker(request).user), "as_of_ms": now_ms()}


@router.get("/ledgers", response=Ledgers, url_name="reconciliation-ledgers", summary="Business ledgers on the server")
def ledgers(request: HttpRequest) -> dict[str, Any]:
    """Names for `ledger`: files an administrator has put there."""
    looker(request)
    return {"ledgers": run_places.ledgers()}


@router.get("/{uuid:ident}", response=Detail, url_name="reconciliation", summary="One run, with its figures")
def one(request: HttpRequest, ident: uuid.UUID) -> dict[str, Any]:
    caller = looker(request)
    run = run_of(caller, ident)
    return shapes.detail_json(run, caller.payload, runs.under_way()) | {
        "groups": runs.groups_of(run),
        "as_of_ms": now_ms(),
    }


@router.post("/{uuid:ident}:stop", response=Run, url_name="reconciliation-stop", summary="Stop a run")
def stop(request: HttpRequest, ident: uuid.UUID) -> dict[str, Any]:
    """One's own; anybody's for an administrator."""
    caller = caller_of(request)
    caller.require(Permission.OPERATE)
    return shapes.run_json(runs.stop(caller.actor, run_of(caller, ident)))


def looker(request: HttpRequest) -> Caller:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    return caller


def run_of(caller: Caller, ident: uuid.UUID) -> Reconciliation:
    found = Reconciliation.objects.filter(pk=ident).first()
    if found is None or not runs.may_see(caller.user, found):
        raise ApiError(404, "unknown_run", f"There is no run {ident}; it may be too old to be kept.")
    return found
