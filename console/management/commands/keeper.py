"""`manage.py keeper`: samples live state for the console; run as many as you like, one is active."""

from __future__ import annotations

import asyncio
import gc
import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.database import refuse_unknown_tables
from console.errors import OtherConsole
from console.keeper.keeper import Keeper
from console.usecases.same_database import refuse_from_the_start

GARBAGE_AFTER = 20_000
"""New objects until Python looks for circles among them. A look at many topics makes as many, which all die without
circles: looking every 700, as Python does by itself, took a sixth of the keeper's CPU."""


class Command(BaseCommand):
    help = "Sample the queues for the live console. Several may run; one is active, the others stand by."
    requires_system_checks: list[str] = []  # they would load every page

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_unknown_tables()
        gc.freeze()
        gc.set_threshold(GARBAGE_AFTER)
        try:
            refuse_from_the_start()
            asyncio.run(_run())
        except OtherConsole as error:
            raise CommandError(str(error)) from None


async def _run() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await Keeper().run(stop)
