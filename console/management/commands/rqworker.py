"""`manage.py rqworker default`: django-rq's, for the job queues of this console's namespace alone."""

from __future__ import annotations

import contextlib
from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django.core.management.base import CommandParser
from django_rq import get_queue
from django_rq.management.commands import rqworker

from console.database import refuse_unknown_tables
from console.supervise.on_demand import on_demand as start_on_demand


class Command(rqworker.Command):
    help = "Work off this console's background jobs: default, pipeline, or both."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--on-demand", metavar="QUEUE", help="start a worker for this one while it has jobs")

    def handle(self, *args: str, on_demand: str | None = None, **options: Any) -> None:
        queues = settings.JOB_QUEUES
        unknown = [name for name in filter(None, (*args, on_demand)) if name not in queues]
        if unknown:
            raise CommandError(f"there is no job queue {', '.join(unknown)}: there are {' and '.join(queues)}")
        refuse_unknown_tables()
        apart = start_on_demand(on_demand, get_queue(queues[on_demand])) if on_demand else contextlib.nullcontext()
        with apart:
            super().handle(*(queues[name] for name in args or ["default"]), **options)
