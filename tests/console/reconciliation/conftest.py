"""Somebody who starts runs, and a job worker that does them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from rq import SimpleWorker

from console.models import Reconciliation
from console.usecases import job_queue
from console.usecases.actor import Actor
from console.usecases.runs import runs
from console.usecases.runs.runs import RunRequest
from rmq_core.embedded.redis import EmbeddedRedis
from tests.console.conftest import Queue
from tests.console.reconciliation import program
from tests.support.console_options import set_options


class Office:
    """Somebody who starts runs, and a job worker that does them in this process."""

    def __init__(self, queue: Queue, user: User) -> None:
        self.queue = queue
        self.who = Actor(user, "127.0.0.1")

    def start(self, **options: Any) -> Reconciliation:
        run = runs.start(self.who, RunRequest(**options))
        return run

    def work(self, run: Reconciliation | None = None) -> Any:
        jobs = job_queue.queue_of(job_queue.RUNS)
        SimpleWorker([jobs], connection=jobs.connection).work(burst=True, logging_level="ERROR")
        if run is not None:
            run.refresh_from_db()
        return run

    def do(self, **options: Any) -> Reconciliation:
        return self.work(self.start(**options))


@pytest.fixture
def office(
    queue: Queue,
    person: Callable[..., User],
    redis_server: EmbeddedRedis,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    tmp_path: Path,
) -> Iterator[Office]:
    monkeypatch.setenv("RUN_AS", "well")
    set_options(
        settings,
        PIPELINE_REPORTS=tmp_path / "reports",
        PIPELINE_LEDGERS=tmp_path / "ledgers",
        PIPELINE_COMMAND=[sys.executable, str(Path(program.__file__))],
    )
    queue.topic()
    yield Office(queue, person("Admin", "chief"))
    with redis_server.client() as raw:
        for key in raw.scan_iter("rq:*"):
            raw.delete(key)
