"""`manage.py jobs`: works off the console's background jobs."""

from __future__ import annotations

import contextlib
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections
from redis.exceptions import ConnectionError
from rq.logutils import setup_loghandlers

from console.database import refuse_unknown_tables
from console.errors import OtherConsole
from console.jobs.kept_program import keeping
from console.supervise.horse import OwnProcessWorker, TetheredWorker
from console.supervise.on_demand import on_demand
from console.usecases.job_queue import OPERATIONS, RUNS, queue_of
from console.usecases.same_database import refuse_from_the_start

LEVELS = ("WARNING", "INFO", "DEBUG", "DEBUG")


class Command(BaseCommand):
    help = "Work off this console's background jobs: bulk operations (default), runs of the pipeline, or both."
    requires_system_checks: list[str] = []  # they would load every page

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("queues", nargs="*", help="default, pipeline; both where none is named")
        parser.add_argument("--name", help="of the job worker, unique")
        parser.add_argument("--burst", action="store_true", help="end when nothing is left")
        parser.add_argument("--idle", type=int, metavar="SECONDS", help="end when nothing has come for so long")
        parser.add_argument("--with-scheduler", action="store_true", help="also start jobs of later times")
        parser.add_argument("--on-demand", metavar="QUEUE", help="start a worker for this one while it has jobs")

    def handle(self, *args: Any, **options: Any) -> None:
        known = (OPERATIONS, RUNS)
        apart = options["on_demand"]
        unknown = [name for name in filter(None, (*options["queues"], apart)) if name not in known]
        if unknown:
            raise CommandError(f"there is no job queue {', '.join(unknown)}: there are {' and '.join(known)}")
        refuse_unknown_tables()
        level = LEVELS[options["verbosity"]]
        setup_loghandlers(level)
        queues = [queue_of(name) for name in options["queues"] or known]
        try:
            refuse_from_the_start()
            only_runs = options["queues"] == [RUNS]
            kind = OwnProcessWorker if only_runs else TetheredWorker
            worker = kind(queues, name=options["name"], connection=queues[0].connection)
            connections.close_all()  # jobs run in forked processes, which must not share them
            with contextlib.ExitStack() as beside:
                if only_runs:
                    beside.enter_context(keeping())
                if apart:
                    beside.enter_context(on_demand(apart, queue_of(apart)))
                worker.work(
                    burst=options["burst"],
                    max_idle_time=options["idle"],
                    with_scheduler=options["with_scheduler"],
                    logging_level=level,
                )
        except (OtherConsole, ConnectionError) as error:
            raise CommandError(str(error)) from None
