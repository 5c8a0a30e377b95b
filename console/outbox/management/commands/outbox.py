"""`manage.py outbox`: relays, and says and does what the page does."""

from __future__ import annotations

import json
import signal
import threading
from dataclasses import asdict
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, InterfaceError

from console.outbox import acts, clients
from console.outbox.acts import Which
from console.outbox.figures import all_figures
from console.outbox.models import OutboxMessage
from console.outbox.options import options as outbox_options
from console.outbox.relay import Relay
from rmq_core.model.text import is_blank

SHOWN_MOST = 100


class Command(BaseCommand):
    help = "Send what was committed (without an action: until it is stopped); list, retry and discard what failed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="end when nothing is due")
        actions = parser.add_subparsers(dest="action", metavar="ACTION")
        status = actions.add_parser("status", help="how much waits, for how long, and what failed")
        retry = actions.add_parser("retry", help="try rows at once that are parked or wait for another try")
        discard = actions.add_parser("discard", help="never send rows that are parked or wait")
        status.add_argument("--json", action="store_true", help="print JSON")
        for each in (retry, discard):
            each.add_argument("ids", nargs="*", type=int, metavar="NUMBER", help="of rows, as status shows them")
            each.add_argument("--all-parked", action="store_true", help="instead of numbers")
            each.add_argument("--topic", default="", help="only of that topic")
            each.add_argument("--database", default="default", help="(default)")
        discard.add_argument("--reason", required=True, help="kept with the row")

    def handle(self, *args: Any, action: str | None, **options: Any) -> None:
        try:
            if action == "status":
                self._status(options["json"])
            elif action is not None:
                self._act(action, options)
            elif options["once"]:
                self._once()
            else:
                _relay()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from None
        except (DatabaseError, InterfaceError) as error:
            raise CommandError(f"the database cannot be used ({error}); migrate prepares it") from None

    def _once(self) -> None:
        sent = 0
        for database in outbox_options().databases:
            relay = Relay(database, clients.patient())
            while (done := relay.step()).taken and done.away is None:
                sent += done.sent
            if done.away is not None:
                raise CommandError(f"the outbox of {database} has to wait: {done.away}")
        self.stdout.write(f"sent {sent}")

    def _status(self, as_json: bool) -> None:
        found = all_figures()
        if as_json:
            self.stdout.write(json.dumps([asdict(each) for each in found], indent=2))
            return
        for each in found:
            if each.problem:
                self.stdout.write(f"{each.database}: {each.problem}")
                continue
            more = " or more" if each.capped else ""
            self.stdout.write(
                f"{each.database}: {each.waiting}{more} waiting ({each.failing} after a failure), the oldest for"
                f" {each.lag_ms / 1000:.1f} s; {each.parked} parked"
            )
            failed = OutboxMessage.objects.using(each.database).exclude(error="").order_by("pk")
            for row in failed.filter(state__in=["waiting", "parked"])[:SHOWN_MOST]:
                self.stdout.write(f"  {row.pk}  {row.state}  {row.topic}  {row.error}")

    def _act(self, action: str, options: dict[str, Any]) -> None:
        if bool(options["ids"]) == options["all_parked"]:
            raise CommandError("name rows by their numbers, or say --all-parked", returncode=2)
        database = options["database"]
        if database not in outbox_options().databases:
            raise CommandError(f"{database!r} is none of DATABASES of RMQ_OUTBOX", returncode=2)
        if action == "discard" and is_blank(options["reason"]):
            raise CommandError("--reason says nothing", returncode=2)
        which = Which(options["ids"], options["all_parked"], options["topic"])
        done = acts.retry(database, which) if action == "retry" else acts.discard(database, which, options["reason"])
        self.stdout.write(f"{'to be tried again' if action == 'retry' else 'discarded'}: {done}")


def _relay() -> None:
    """A thread for each database, until a signal."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    relays = [Relay(database, clients.patient()) for database in outbox_options().databases]
    threads = [threading.Thread(target=each.run, args=[stop], name=f"outbox-{each.database}") for each in relays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
