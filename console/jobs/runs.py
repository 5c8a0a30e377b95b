"""Runs as jobs on django-rq, schedules that come due, and runs whose worker has died."""

from __future__ import annotations

import logging
import shutil
import time
from datetime import timedelta

import django_rq
from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext
from redis.exceptions import RedisError

from console.models import PipelineSchedule, Reconciliation
from console.usecases.actions import BadRequest
from console.usecases import run_places as places
from console.usecases import runs
from console.jobs.run_process import Runner
from console.jobs.run_process import complete_audit

log = logging.getLogger("console.reconciliation")

QUEUE = settings.JOB_QUEUES["pipeline"]
"""Of its own: a run takes minutes, and bulk operations must not wait behind it."""
JOB_TIMEOUT_S = 24 * 3600
KEPT = timedelta(days=90)
KEPT_ARCHIVES = timedelta(days=7)
"""Archives may run every minute, and leave nothing to read but their log."""
State = Reconciliation.State


def enqueue(run_id: str) -> None:
    """Have a job worker turn to it; where the queue of jobs is away, the keeper does this later."""
    try:
        django_rq.get_queue(QUEUE, commit_mode="auto").enqueue_call(
            work,
            args=(str(run_id),),
            timeout=JOB_TIMEOUT_S,
            result_ttl=0,
            failure_ttl=3_600,
            job_id=f"run-{str(run_id).replace('-', '')}",
            description=f"run {run_id}",
        )
    except RedisError as error:
        log.warning("run %s could not be handed to a job worker yet: %s", run_id, error)


def work(run_id: str) -> None:
    """The job."""
    runner = Runner.take(run_id)
    if runner is not None:
        runner.work()


def look(now_ms: int | None = None) -> None:
    """What the keeper does each second: start what is due, hand on what waits, give up what is silent."""
    now = round(time.time() * 1000) if now_ms is None else now_ms
    for schedule in PipelineSchedule.objects.filter(enabled=True, next_ms__lte=now)[:20]:
        _start_scheduled(schedule, now)
    waiting = list(Reconciliation.objects.filter(state=State.QUEUED).order_by("created")[:50])
    if waiting:
        _hand_on(waiting)
    silent = Reconciliation.objects.filter(state__in=(State.RUNNING, State.STOPPING), due_ms__lt=now)
    for run in silent[:50]:
        run.error = gettext("Its worker ended in the middle. Run it again: nothing is lost by that.")
        run.state = State.STOPPED if run.state == State.STOPPING else State.FAILED
        run.finished = timezone.now()
        mine = Reconciliation.objects.filter(pk=run.pk, runner=run.runner, due_ms=run.due_ms)
        if mine.update(state=run.state, error=run.error, finished=run.finished, runner=""):
            complete_audit(run)


def prune() -> None:
    """Forget runs that ended long ago, with their reports."""
    now = timezone.now()
    long_ago = Q(finished__lt=now - KEPT) | Q(finished__lt=now - KEPT_ARCHIVES, kind="archive")
    for run in Reconciliation.objects.filter(long_ago).exclude(state__in=Reconciliation.LIVE)[:500]:
        shutil.rmtree(places.report_of(run), ignore_errors=True)
        run.delete()


def _start_scheduled(schedule: PipelineSchedule, now_ms: int) -> None:
    following = now_ms + schedule.every_s * 1000
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
    enqueue(str(run.pk))


def _hand_on(waiting: list[Reconciliation]) -> None:
    try:
        known = set(django_rq.get_queue(QUEUE).get_job_ids())
    except RedisError:
        return
    for run in waiting:
        if f"run-{run.pk.hex}" not in known:
            enqueue(str(run.pk))
