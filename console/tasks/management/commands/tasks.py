"""`manage.py tasks`: a worker for the project's tasks."""

from __future__ import annotations

import os
import socket
from typing import Any
from uuid import uuid4

from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError
from django.core.management.base import BaseCommand, CommandParser

from console.listening import Connections
from console.tasks.backend import Backend
from console.tasks.frameworks import backends
from console.tasks.running import Runner
from rmq_core.errors import RMQError, is_usage
from rmq_core.worker import Worker
from rmq_core.worker.worker import NAME_VARIABLE


class Command(BaseCommand):
    help = "Run the tasks of a backend of TASKS, until SIGTERM or Ctrl-C; a second one forces the stop."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--backend", default="default", help="its name in TASKS (default)")
        parser.add_argument("--queue", action="append", default=[], help="one of its queues; may be repeated (all)")
        parser.add_argument("--exclude-queue", action="append", default=[], help="none of this; may be repeated")
        parser.add_argument("--threads", type=int, default=8, help="tasks running at once (8)")
        parser.add_argument("--name", help="unique in the fleet, at most 64 characters")

    def handle(self, *args: Any, **given: Any) -> None:
        backend = self._backend(given["backend"])
        name = given["name"] or os.environ.get(NAME_VARIABLE)
        name = name or f"{socket.gethostname()[:40]}-{os.getpid()}-{uuid4().hex[:6]}"
        if len(name) > 64:
            raise CommandError("a worker's name has at most 64 characters", returncode=2)
        try:
            listeners = [
                listener
                for queue in self._queues(backend, given["queue"], given["exclude_queue"])
                for listener in Runner(backend, queue, name).listeners()
            ]
            worker = Worker(
                backend.settings.redis_url,
                listeners,
                name=name,
                namespace=backend.settings.namespace,
                threads=given["threads"],
                hooks=[Connections()],
            )
            worker.run()
        except RMQError as error:
            raise CommandError(str(error), returncode=2 if is_usage(error) else 1) from None

    def _backend(self, alias: str) -> Backend:
        try:
            known = backends()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from None
        if alias not in known:
            raise CommandError(f"TASKS has no {alias!r}; it has {', '.join(known)}", returncode=2)
        found = known[alias]
        if not isinstance(found, Backend):
            raise CommandError(f"TASKS[{alias!r}] is not a backend of console.tasks", returncode=2)
        return found

    def _queues(self, backend: Backend, asked: list[str], excluded: list[str]) -> list[str]:
        known = sorted(backend._queues())
        if unknown := sorted({*asked, *excluded} - set(known)) if backend.queues else []:
            raise CommandError(f"there is no queue {', '.join(unknown)}; there are {', '.join(known)}", returncode=2)
        queues = [queue for queue in asked or known if queue not in excluded]
        if not queues:
            raise CommandError("no queue is left to work on: name one by --queue", returncode=2)
        return queues
