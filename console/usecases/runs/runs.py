"""Runs of the pipeline: started, stopped, scheduled. Pages and the API both come here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone
from django.utils.translation import gettext

from console.access import Action, Permission, User, account_of, in_scope, require
from console.clock import now_ms
from console.engine import engine
from console.errors import BadRequest, NotConfirmed, ScheduleMoved, UnknownSchedule
from console.models import PipelineSchedule, Reconciliation
from console.models.fields import UNREADABLE
from console.models.pipeline import WITHOUT
from console.options import options
from console.usecases.actor import Actor, started
from console.usecases.audit import audited, check_reason, complete_run, new_entry, refusals
from console.usecases.job_queue import enqueue_run
from console.usecases.meanwhile import removed
from console.usecases.runs import erasing, run_places
from rmq_core.errors import RMQError
from rmq_core.figures import digits
from rmq_core.model.topic import Journal
from rmq_core.protocol.keys import Keyspace

State = Reconciliation.State
ACTIONS = {
    "reconcile": Action.RECONCILE,
    "archive": Action.ARCHIVE,
    "restore": Action.RESTORE_ALL,
    "erase": Action.ERASE,
}
TOPICS_MOST = 500
EVERY_LEAST_MS, EVERY_MOST_MS = 60_000, 366 * 86_400_000
WORDS = {"restore": "restore", "erase": "erase"}
"""To be typed, where a run changes what cannot be had back."""
GROUPS_MOST = 500
CAUSES_MOST, CAUSES_READ = 8, 4_000
"""Of each group; of all together."""
TREND = 60


@dataclass(frozen=True)
class RunRequest:
    """A run as asked for. `topics` empty: all. `confirm`: the word to type where a run puts messages back, or erases.

    Of a restore, `dry_run`: it only counts; `into`: it fills this namespace, which nobody uses, and leaves ours alone,
    with what was there at `at_ms` (None: now). Of an erasure `dry_run`, and `names`: whose messages. Of a
    reconciliation, `from_scratch`: it reads all of the archive, whatever the run before knew.
    """

    kind: str = "reconcile"
    topics: Sequence[str] = ()
    ledger: str = ""
    reason: str = ""
    confirm: str = ""
    dry_run: bool = False
    into: str = ""
    at_ms: int | None = None
    names: erasing.Names | None = None
    from_scratch: bool = False

    @property
    def word(self) -> str | None:
        """What is to be typed: it puts messages into queues that are in use, or erases them."""
        return None if self.dry_run or self.into else WORDS.get(self.kind)

    def asked(self) -> dict[str, Any]:
        """What is particular to a job."""
        found = {"dry_run": self.dry_run, "into": self.into, "at_ms": self.at_ms, "from_scratch": self.from_scratch}
        return {name: value for name, value in found.items() if value not in (False, "", None)}

    def query(self) -> dict[str, Any]:
        """For the audit: what was asked for; of an erasure how many ids, for it is kept."""
        ledger = {"ledger": self.ledger} if self.ledger else {}
        names = self.names.counts() if self.names else {}
        return {"kind": self.kind, "topics": list(self.topics), **ledger, **self.asked(), **names}


def start(actor: Actor, wanted: RunRequest) -> Reconciliation:
    """Queue a run; recorded in the audit, also when it is refused.

    Raises `Forbidden`, `BadRequest` and the engine's errors.
    """
    action = ACTIONS.get(wanted.kind, Action.RECONCILE)
    topic = wanted.topics[0] if len(wanted.topics) == 1 else ""
    entry = new_entry(actor, action, topic=topic, query=wanted.query(), reason=wanted.reason)
    with refusals(entry):
        for topic in wanted.topics or ("",):
            require(actor.user, action, topic)
        _check(wanted)
        if (word := wanted.word) and wanted.confirm != word:
            raise NotConfirmed(gettext("Type “%(word)s” to confirm.") % {"word": word})
        run = Reconciliation(
            kind=wanted.kind,
            topics=list(wanted.topics),
            ledger=wanted.ledger,
            asked=wanted.asked() | (wanted.names.stored() if wanted.names else {}),
            summary=_beforehand(wanted.topics),
            **entry.asker(),
        )
    entry.detail = {"run": str(run.pk)}
    with transaction.atomic():
        entry.save()
        run.audit = entry
        run.save()
    enqueue_run(str(run.pk))
    return run


def scheduled(schedule: PipelineSchedule) -> Reconciliation:
    """The run that a schedule asks for now. Raises `BadRequest` while the one before is still under way."""
    if schedule.runs.filter(state__in=Reconciliation.LIVE).exists():
        raise BadRequest(gettext("The run before is still under way."))
    if UNREADABLE in schedule.topics:
        raise BadRequest(gettext("Its topics cannot be read: delete it, and make another."))
    if schedule.ledger:
        run_places.ledger_path(schedule.ledger)
    return Reconciliation.objects.create(
        kind=schedule.kind,
        topics=schedule.topics,
        ledger=schedule.ledger,
        summary=_beforehand(schedule.topics),
        schedule=schedule,
        user=schedule.user,
        username=schedule.username,
        via="schedule",
    )


def stop(actor: Actor, run: Reconciliation) -> Reconciliation:
    """End a run; what it has done so far stays. One's own, or of a schedule that one has made, or anybody's for an
    administrator.

    Raises `Forbidden`, and `BadRequest` where it has ended already.
    """
    action = ACTIONS[run.kind]
    with audited(actor, action, query={"stop": str(run.pk)}) as entry:
        for topic in run.topics or ("",):
            require(actor.user, action, topic)
        if not started(actor.user, run):
            require(actor.user, Permission.ADMINISTER)
        mine = Reconciliation.objects.filter(pk=run.pk)
        now = timezone.now()
        with transaction.atomic():
            ended = mine.filter(state=State.QUEUED).update(state=State.STOPPED, finished=now)
            if ended:
                run.refresh_from_db()
                complete_run(run)
        if not ended and not mine.filter(state__in=(State.RUNNING, State.STOPPING)).update(state=State.STOPPING):
            raise BadRequest(gettext("This run has ended already."))
        run.refresh_from_db()
        entry.done = 1
    return run


def schedule(
    actor: Actor, wanted: RunRequest, every_ms: int, known: PipelineSchedule | None = None, enabled: bool = True
) -> PipelineSchedule:
    """Make a schedule, or change one; its first run comes soon.

    Raises `Forbidden`, `BadRequest`, `UnknownSchedule` (it was deleted meanwhile), `ScheduleMoved` (or changed: all of
    it is written, over what `known` was read as).
    """
    query = {**wanted.query(), "every_ms": every_ms, **({"schedule": known.pk, "enabled": enabled} if known else {})}
    with audited(actor, Action.SCHEDULE, query=query, reason=wanted.reason) as entry:
        require(actor.user, Action.SCHEDULE, "")
        check_schedule(wanted, every_ms)
        fields = {
            "kind": wanted.kind,
            "topics": list(wanted.topics),
            "ledger": wanted.ledger,
            "every_ms": every_ms,
            "user": account_of(actor.user),
            "username": actor.user.get_username()[:150],
            "enabled": enabled,
        }
        if known is None:
            found = PipelineSchedule.objects.create(next_ms=now_ms(), **fields)
        else:
            found = _change(known, all_of_it=True, **fields)
        entry.done = 1
    return found


def check_schedule(wanted: RunRequest, every_ms: int) -> None:
    """Whether that can run by itself. Raises `BadRequest` and the engine's errors."""
    if wanted.kind in WORDS:
        raise BadRequest(gettext("This cannot be scheduled: a person has to start it."))
    _check(wanted)
    if not EVERY_LEAST_MS <= every_ms <= EVERY_MOST_MS:
        raise BadRequest(gettext("It must be at least a minute, and at most a year."))


def switch(actor: Actor, found: PipelineSchedule, enabled: bool, reason: str = "") -> PipelineSchedule:
    """Let a schedule rest, or go on. Raises `Forbidden`, `BadRequest`, `UnknownSchedule`."""
    with audited(actor, Action.SCHEDULE, query={"schedule": found.pk, "enabled": enabled}, reason=reason) as entry:
        require(actor.user, Action.SCHEDULE, "")
        check_reason(reason)
        found = _change(found, enabled=enabled, next_ms=max(found.next_ms, now_ms()))
        entry.done = 1
    return found


def remove(actor: Actor, found: PipelineSchedule, reason: str) -> None:
    """Delete a schedule; its runs stay. The audit keeps what it was.

    Raises `Forbidden`, `BadRequest` (no reason), `UnknownSchedule` (somebody else has deleted it),
    `ChangedMeanwhile`.
    """
    what = {"kind": found.kind, "topics": found.topics, "ledger": found.ledger, "every_ms": found.every_ms}
    query = {"schedule": found.pk, "delete": True, **what}
    with audited(actor, Action.SCHEDULE, query=query, reason=reason) as entry:
        require(actor.user, Action.SCHEDULE, "")
        check_reason(reason, needed=True)
        if not removed(found):
            raise unknown_schedule()
        entry.done = 1


def unknown_schedule() -> UnknownSchedule:
    """That it is not there, or no longer."""
    return UnknownSchedule(gettext("There is no such schedule."))


def schedule_moved() -> ScheduleMoved:
    """That it is not what somebody has seen."""
    return ScheduleMoved(gettext("Somebody else has changed this schedule meanwhile: open it again."))


def _change(known: PipelineSchedule, all_of_it: bool = False, **fields: Any) -> PipelineSchedule:
    """Write these fields and no others: somebody else may change the rest, or delete it.

    Raises `UnknownSchedule`, and of all of it `ScheduleMoved`.
    """
    there = PipelineSchedule.objects.filter(pk=known.pk)
    seen = there.filter(changed=known.changed) if all_of_it else there
    if not seen.update(changed=timezone.now(), **fields):
        raise schedule_moved() if there.exists() else unknown_schedule()
    try:
        known.refresh_from_db()
    except PipelineSchedule.DoesNotExist:  # since then
        raise unknown_schedule() from None
    return known


def may_see(user: User, run: Reconciliation) -> bool:
    """Whether somebody who may look at all may look at this run: at every topic of it."""
    return all(in_scope(user, topic) for topic in run.topics or ("",))


def may_see_schedule(user: User, schedule: PipelineSchedule) -> bool:
    """The same of a schedule."""
    return all(in_scope(user, topic) for topic in schedule.topics or ("",))


def groups_of(run: Reconciliation) -> list[dict[str, Any]]:
    """How many findings there are of each kind, topic and repair; `open`: nobody has started to repair them; `causes`:
    the most frequent ones that their evidence names."""
    key = ("kind", "topic", "repair")
    groups = run.found.values(*key).annotate(n=Count("pk"), open=Count("pk", Q(operation=None))).order_by(*key)
    named = run.found.exclude(cause="").values(*key, "cause").annotate(n=Count("pk")).order_by("-n", "cause")
    causes: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for each in named[:CAUSES_READ]:
        causes.setdefault(tuple(each[name] for name in key), []).append({"cause": each["cause"], "n": each["n"]})
    return [
        {**each, "causes": causes.get(tuple(each[name] for name in key), [])[:CAUSES_MOST]}
        for each in groups[:GROUPS_MOST]
    ]


def trend(user: User, most: int = TREND) -> list[Reconciliation]:
    """The newest finished reconciliations that somebody may see, oldest first."""
    done = Reconciliation.objects.filter(kind="reconcile", state="done").order_by("-created")[:most]
    return [run for run in reversed(done) if may_see(user, run)]


def under_way() -> Reconciliation | None:
    """The run that those in the queue wait for."""
    return Reconciliation.objects.filter(state__in=(State.RUNNING, State.STOPPING)).order_by("started").first()


def _beforehand(topics: Sequence[str]) -> dict[str, Any]:
    """What has to be said of a run over all topics: those it can say nothing of, for their journal is off."""
    if topics:
        return {}
    try:
        return {WITHOUT: [topic.name for topic in engine().inspector.topics() if topic.journal is Journal.OFF]}
    except RMQError:
        return {}  # the run itself will say that the queue cannot be reached


def _check(wanted: RunRequest) -> None:
    if wanted.kind not in ACTIONS:
        raise BadRequest(gettext("There is no job of that name."))
    if len(wanted.topics) > TOPICS_MOST:
        raise BadRequest(gettext("At most %(most)s topics can be named.") % {"most": digits(TOPICS_MOST)})
    for topic in wanted.topics if wanted.kind != "erase" else ():  # whose topic may be gone
        engine().client.topic(topic)
    if wanted.ledger:
        if wanted.kind != "reconcile":
            raise BadRequest(gettext("A ledger is for reconciliations only."))
        run_places.ledger_path(wanted.ledger)
    if wanted.kind == "erase":
        erasing.check(wanted.names, wanted.reason, dry_run=wanted.dry_run)
        if wanted.into or wanted.at_ms is not None:
            raise BadRequest(gettext("Only a restore is rehearsed."))
    elif wanted.names is not None:
        raise BadRequest(gettext("Messages are named where they are erased."))
    elif wanted.kind != "restore" and wanted.asked().keys() - {"from_scratch"}:
        raise BadRequest(gettext("Only a restore is rehearsed."))
    if wanted.from_scratch and wanted.kind != "reconcile":
        raise BadRequest(gettext("Only a reconciliation begins from scratch."))
    if wanted.at_ms is not None and not wanted.into:
        raise BadRequest(gettext("What was there at a moment is put into another namespace: say which."))
    if wanted.into:
        Keyspace(wanted.into)
        if wanted.into == options().namespace:
            raise BadRequest(gettext("This is the namespace itself: choose another one to rehearse in."))
    check_reason(wanted.reason)
