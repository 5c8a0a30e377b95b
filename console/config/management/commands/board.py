"""`manage.py board JFK`: shows what the demo's listeners found out."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.demo.results import Results
from console.engine import engine
from rmq_core.errors import RMQError


class Command(BaseCommand):
    help = "Show the boards that the demo keeps for an airport, as its listeners last wrote them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("airport", type=str.upper, help="three letters: EWR, JFK, LGA or a destination such as BOS")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            results = Results(engine().client)
            boards, gates = results.board(options["airport"]), results.gates()
        except RMQError as error:
            raise CommandError(str(error)) from error
        if not boards:
            raise CommandError(f"no board for {options['airport']} yet: is the demo running (manage.py up --demo)?")
        for carrier, board in sorted(boards.items()):
            self.stdout.write(self.style.MIGRATE_HEADING(f"{options['airport']} {carrier}  as of {board['as_of']}"))
            for row in board["rows"]:
                self.stdout.write(f"  {row['time']}  {row['flight']:8} {row['direction']:9} {row['status']}")
        if gate := gates.get(options["airport"]):
            self.stdout.write(
                f"gate closed last: {gate['flight']} to {gate['to']}, {gate['closed']} ({gate['status']})"
            )
