"""Hands work to the job workers, by the name of its function: jobs stand above the use cases that ask for them."""

from __future__ import annotations

import functools
import logging
import uuid

import django_rq
from django.conf import settings
from redis.exceptions import RedisError
from rq import Queue

from console.options import options
from console.redis_urls import job_connection, job_queue_settings

log = logging.getLogger("console.jobs")

OPERATIONS, RUNS = "default", "pipeline"
"""Runs have one of their own: a run takes minutes, and bulk operations must not wait behind it."""
SLICE_TIMEOUT_S = 300
"""Far more than a slice takes: it ends a job that hangs, and the operation goes on in another."""
RUN_TIMEOUT_S = 24 * 3600


def queue_of(name: str) -> Queue:
    """A queue of jobs, as django-rq makes it."""
    full_name = _full_name(name)
    if full_name not in getattr(settings, "RQ_QUEUES", {}):
        announce_queues()
    return django_rq.get_queue(full_name, connection=_connection(options().console_redis_url), commit_mode="auto")


def announce_queues() -> None:
    """Puts the console's queues beside those that the project has, for whatever django-rq shows or does."""
    ours = {_full_name(name): job_queue_settings(options().console_redis_url) for name in (OPERATIONS, RUNS)}
    settings.RQ_QUEUES = {**getattr(settings, "RQ_QUEUES", {}), **ours}


def _full_name(name: str) -> str:
    """Several consoles, and other applications with RQ, may share a Redis: queues carry the namespace."""
    return f"{options().namespace}:{name}"


_connection = functools.lru_cache(4)(job_connection)


def enqueue_operation(operation_id: str) -> None:
    """Have a job worker turn to it; where the queue of jobs is away, the keeper does this later."""
    # A slice that is running may ask for the next one, so each job has a name of its own.
    job_id = f"{_job_prefix(operation_id)}{uuid.uuid4().hex}"
    _enqueue(OPERATIONS, "console.jobs.operations.run", operation_id, job_id, SLICE_TIMEOUT_S)


def enqueue_run(run_id: str) -> None:
    """The same with a run of the pipeline."""
    _enqueue(RUNS, "console.jobs.runs.work", run_id, _run_job(run_id), RUN_TIMEOUT_S)


def waiting_operations(ids: list[str]) -> set[str]:
    """Those that have a job in the queue. Raises `RedisError`."""
    jobs = queue_of(OPERATIONS).get_job_ids()
    return {each for each in ids if any(job.startswith(_job_prefix(each)) for job in jobs)}


def waiting_runs(ids: list[str]) -> set[str]:
    """Those that have a job in the queue. Raises `RedisError`."""
    jobs = set(queue_of(RUNS).get_job_ids())
    return {each for each in ids if _run_job(each) in jobs}


def others_wait() -> bool:
    """Whether other operations wait for a job worker."""
    try:
        return bool(queue_of(OPERATIONS).count)
    except RedisError:
        return False


def _enqueue(queue: str, function: str, ident: str, job_id: str, timeout_s: int) -> None:
    try:
        queue_of(queue).enqueue_call(
            function,
            args=(ident,),
            timeout=timeout_s,
            result_ttl=0,
            failure_ttl=3_600,
            job_id=job_id,
            description=job_id,
        )
    except RedisError as error:
        log.warning("%s could not be handed to a job worker yet: %s", job_id, error)


def _job_prefix(operation_id: str) -> str:
    return f"operation-{uuid.UUID(str(operation_id)).hex}-"


def _run_job(run_id: str) -> str:
    return f"run-{uuid.UUID(str(run_id)).hex}"
