"""Runs as jobs on django-rq, schedules that come due, and runs whose worker has died."""

from __future__ import annotations

import logging
import shutil
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext
from redis.exceptions import RedisError

from console.clock import now_ms
from console.errors import BadRequest
from console.jobs.run_process import Runner
from console.models import PipelineSchedule, Reconciliation, TopicVerdict
from console.usecases.audit import complete_run
from console.usecases.job_queue import enqueue_run, waiting_runs
from console.usecases.runs import erasing, run_places, runs

log = logging.getLogger("console.reconciliation")

KEPT = timedelta(days=90)
KEPT_ARCHIVES = timedelta(days=7)
"""Archives may run every minute, and leave nothing to read but their log."""
KEPT_REPEATED = timedelta(days=1)
"""So may reconciliations, of which those in which nothing had moved say what the one before them said."""
State = Reconciliation.State


def work(run_id: str) -> None:
    """The job."""
    runner = Runner.take(run_id)
    if runner is not None:
        runner.work()


def pick_up(at_ms: int | None = None) -> None:
    """What the keeper does every other second: start what is due, hand on what waits, give up what is silent."""
    now = now_ms() if at_ms is None else at_ms
    for schedule in PipelineSchedule.objects.filter(enabled=True, next_ms__lte=now)[:20]:
        _start_scheduled(schedule, now)
    queued = Reconciliation.objects.filter(state=State.QUEUED).order_by("created")
    waiting = [str(pk) for pk in queued.values_list("pk", flat=True)[:50]]
    if waiting:
        _hand_on(waiting)
    silent = Reconciliation.objects.filter(state__in=(State.RUNNING, State.STOPPING), due_ms__lt=now)
    for run in silent[:50]:
        run.error = gettext("Its worker ended in the middle. Run it again: nothing is lost by that.")
        run.state = State.STOPPED if run.state == State.STOPPING else State.FAILED
        run.finished = timezone.now()
        mine = Reconciliation.objects.filter(pk=run.pk, runner=run.runner, due_ms=run.due_ms)
        with transaction.atomic():
            if mine.update(state=run.state, error=run.error, finished=run.finished, runner=""):
                complete_run(run)


def prune() -> None:
    """Forget runs that ended long ago, with their reports."""
    now = timezone.now()
    erasing.forget_names(now)
    TopicVerdict.objects.filter(at__lt=now - KEPT).delete()  # of a topic that is compared no more
    long_ago = Q(finished__lt=now - KEPT) | Q(finished__lt=now - KEPT_ARCHIVES, kind="archive")
    newest = TopicVerdict.objects.values("run")  # a page leads there
    long_ago |= Q(finished__lt=now - KEPT_REPEATED, summary__has_key="same_as") & ~Q(pk__in=newest)
    for run in Reconciliation.objects.filter(long_ago).exclude(state__in=Reconciliation.LIVE)[:500]:
        shutil.rmtree(run_places.report_of(run), ignore_errors=True)
        run.delete()


def _start_scheduled(schedule: PipelineSchedule, at_ms: int) -> None:
    following = at_ms + schedule.every_ms
    mine = PipelineSchedule.objects.filter(pk=schedule.pk, next_ms=schedule.next_ms, enabled=True)
    if not mine.update(next_ms=following):
        return
    try:
        run = runs.scheduled(schedule)
    except BadRequest as error:  # one is still under way, or its ledger is gone
        log.warning("schedule %s is left out this time: %s", schedule.pk, error)
        return
    except Exception:  # one that cannot be run keeps no other from running
        log.exception("schedule %s could not be started", schedule.pk)
        return
    enqueue_run(str(run.pk))


def _hand_on(waiting: list[str]) -> None:
    try:
        known = waiting_runs(waiting)
    except RedisError:
        return
    for each in waiting:
        if each not in known:
            enqueue_run(each)
