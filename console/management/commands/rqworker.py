"""`manage.py rqworker default`: django-rq's, for the job queues of this console's namespace alone."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django_rq.management.commands import rqworker

from console.database import refuse_unknown_tables


class Command(rqworker.Command):
    help = "Work off this console's background jobs: default, pipeline, or both."

    def handle(self, *args: str, **options: Any) -> None:
        queues = settings.JOB_QUEUES
        unknown = [name for name in args if name not in queues]
        if unknown:
            raise CommandError(f"there is no job queue {', '.join(unknown)}: there are {' and '.join(queues)}")
        refuse_unknown_tables()
        super().handle(*(queues[name] for name in args or ["default"]), **options)
