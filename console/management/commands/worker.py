"""`manage.py worker`: hosts the listeners the setting RMQ_LISTENERS names."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django.core.management.base import BaseCommand, CommandParser

from rmq_core.errors import ConfigurationError
from rmq_core.worker import Worker, find_listeners


class Command(BaseCommand):
    help = "Consume with the listeners named by RMQ_LISTENERS (module:attribute, several separated by commas)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", help="unique in the fleet, best the same after a restart")
        parser.add_argument("--threads", type=int, default=8, help="plain listeners running at once")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.RMQ_LISTENERS:
            raise CommandError("RMQ_LISTENERS is not set: it names the listeners, as package.module:attribute")
        try:
            listeners = [found for path in settings.RMQ_LISTENERS for found in find_listeners(path)]
            worker = Worker(
                settings.REDIS_URL,
                listeners,
                name=options["name"],
                namespace=settings.RMQ_NAMESPACE,
                threads=options["threads"],
                zookeeper=settings.ZOOKEEPER_URL or None,
            )
        except ConfigurationError as error:
            raise CommandError(str(error)) from None
        worker.run()
