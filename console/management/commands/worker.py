"""`manage.py worker`: hosts the listeners that the settings name."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandError
from django.core.management.base import BaseCommand, CommandParser

from console.listening import Connections
from console.options import options
from rmq_core.errors import ConfigurationError, is_usage
from rmq_core.hooks.chain import find_hooks
from rmq_core.worker import Worker, find_listeners


class Command(BaseCommand):
    help = "Consume with the listeners named by LISTENERS of RMQ_CONSOLE, or here (module, or module:attribute)."
    requires_system_checks: list[str] = []  # they would load every page

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("listeners", nargs="*", help="instead of those of the settings")
        parser.add_argument("--name", help="unique in the fleet, best the same after a restart")
        parser.add_argument("--threads", type=int, default=8, help="plain listeners running at once")

    def handle(self, *args: Any, **arguments: Any) -> None:
        known = options()
        paths = arguments["listeners"] or known.listeners
        if not paths:
            raise CommandError("no listeners are named: set LISTENERS in RMQ_CONSOLE, as package.module:attribute")
        try:
            listeners = [found for path in paths for found in find_listeners(path)]
            hooks = [hook for path in known.hooks for hook in find_hooks(path)]
            worker = Worker(
                known.redis_url,
                listeners,
                name=arguments["name"],
                namespace=known.namespace,
                threads=arguments["threads"],
                zookeeper=known.zookeeper_url or None,
                hooks=[Connections(), *hooks],
                process_setup="django:setup",
            )
        except ConfigurationError as error:
            raise CommandError(str(error), returncode=2 if is_usage(error) else 1) from None
        worker.run()
