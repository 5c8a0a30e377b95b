"""`manage.py replay`: sends real flights of 2013 as messages; part of `manage.py up --demo`."""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.demo.flights import DataMissing
from console.demo.ledger import NAME, Ledger
from console.demo.program import storm_program
from console.demo.replay import Replay
from console.engine import engine
from console.options import options as console_options
from rmq_core.errors import RMQError

RATE_MOST = 20_000


class Command(BaseCommand):
    help = "Replay real flights out of New York in 2013, 60 times faster than life. Goes on where it stopped."
    requires_system_checks: list[str] = []  # they would load every page

    def add_arguments(self, parser: CommandParser) -> None:
        default = settings.DEMO_RATE
        parser.add_argument("--rate", type=rate, default=default, help="messages per second (default: %(default)s)")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        try:
            program = storm_program()
            ledger = Ledger(program, Path(console_options().pipeline_ledgers) / NAME)
            Replay(engine().client, program, options["rate"], ledger=ledger).run(stop)
        except (RMQError, DataMissing) as error:
            raise CommandError(str(error)) from error


def rate(text: str) -> int:
    """A rate from the command line."""
    if not text.isdecimal() or int(text) > RATE_MOST:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from 0 to {RATE_MOST}")
    return int(text)
