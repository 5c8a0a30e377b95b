"""`manage.py keeper`: samples live state for the console; run as many as you like, one is active."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from django.core.management.base import BaseCommand

from console.database import refuse_unknown_tables
from console.keeper.keeper import Keeper


class Command(BaseCommand):
    help = "Sample the queues for the live console. Several may run; one is active, the others stand by."

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_unknown_tables()
        asyncio.run(_run())


async def _run() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await Keeper().run(stop)
