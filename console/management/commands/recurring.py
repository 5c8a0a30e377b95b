"""`rmq recurring`: what the page does with recurring messages, without a browser."""

from __future__ import annotations

import getpass
import json
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, transaction

from console.access import Action
from console.errors import BadRequest, UnknownRecurring
from console.models import RecurringMessage, RecurringTick
from console.recurring.rule import InvalidRecurring
from console.serializers.recurring import recurring_json, tick_json, upcoming_of
from console.usecases import recurring
from console.usecases.audit import check_reason, note
from console.usecases.recurring_ticks import DATABASE, send_by_hand
from rmq_core.errors import RMQError
from rmq_core.model.text import shown

TICKS_MOST = 50


class Command(BaseCommand):
    help = "List recurring messages and their ticks; send one more now, disable and enable them."
    requires_system_checks: list[str] = []  # they would load every page

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        every = [actions.add_parser("list", help="all of them, and when each is due next")]
        for name, about in (
            ("ticks", f"what was sent of one, the last {TICKS_MOST}, and what comes next"),
            ("run", "send one more message now; the ticks go on as they would"),
            ("disable", "send no more ticks"),
            ("enable", "go on with the next tick there is"),
        ):
            one = actions.add_parser(name, help=about)
            one.add_argument("name", help="of the recurring message")
            if name != "ticks":
                one.add_argument("--reason", default="", help="kept in the audit")
            every.append(one)
        for each in every:
            each.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        self.as_json = options["json"]
        try:
            if action == "list":
                self._list()
            elif action == "ticks":
                self._ticks(_found(options["name"]))
            elif action == "run":
                self._run(_found(options["name"]), _checked(options["reason"]))
            else:
                self._switch(_found(options["name"]), action == "enable", _checked(options["reason"]))
        except DatabaseError as error:
            raise CommandError(f"the console's database cannot be used ({error}); migrate prepares it") from None

    def _list(self) -> None:
        rows = list(RecurringMessage.objects.order_by("name"))
        if self.as_json:
            self._print([_shown(row) for row in rows])
            return
        if not rows:
            self.stdout.write("no recurring messages")
        for row in rows:
            state = "no more ticks" if row.next_ms is None else f"next {_time(row.next_ms)}"
            state = state if row.enabled else "disabled"
            failed = f"  {shown(row.error)}" if row.error else ""
            every = row.cron or f"every {row.every_ms} ms"
            self.stdout.write(f"{row.name}: {every} ({row.time_zone}) to {row.topic}, {state}{failed}")

    def _ticks(self, row: RecurringMessage) -> None:
        ticks = list(row.ticks.all()[:TICKS_MOST])
        if self.as_json:
            self._print(_shown(row) | {"upcoming": upcoming_of(row), "ticks": [tick_json(each) for each in ticks]})
            return
        for tick_ms in reversed(upcoming_of(row)):
            self.stdout.write(f"{_time(tick_ms)}  to come")
        for tick in ticks:
            missed = f", {tick.missed} missed" if tick.missed else ""
            self.stdout.write(f"{_time(tick.tick_ms)}  {tick.how}{missed}  {tick.message}")

    def _run(self, row: RecurringMessage, reason: str) -> None:
        user = _user()
        try:
            with transaction.atomic(using=DATABASE):  # nothing is done that is not written down
                tick: RecurringTick = send_by_hand(row, user[:150])
                note(Action.RUN_RECURRING, username=user, topic=row.topic, query={"recurring": row.name}, reason=reason,
                     done=1, via="command")  # fmt: skip
        except (InvalidRecurring, UnknownRecurring, RMQError) as error:
            raise CommandError(str(error)) from None
        if self.as_json:
            self._print(tick_json(tick))
        else:
            self.stdout.write(tick.message)

    def _switch(self, row: RecurringMessage, enabled: bool, reason: str) -> None:
        query = {"recurring": row.name, "enabled": enabled}
        try:
            with transaction.atomic(using=DATABASE):
                recurring.set_enabled(row, enabled)
                note(Action.RECURRING, username=_user(), topic=row.topic, query=query, reason=reason, done=1,
                     via="command")  # fmt: skip
        except (InvalidRecurring, UnknownRecurring) as error:
            raise CommandError(str(error)) from None
        if self.as_json:
            self._print(_shown(row))
        else:
            self.stdout.write(f"{row.name} is {'enabled' if enabled else 'disabled'}")

    def _print(self, value: Any) -> None:
        self.stdout.write(json.dumps(value, indent=2))


def _found(name: str) -> RecurringMessage:
    found = recurring.named(name)
    if found is None:
        raise CommandError(f"there is no recurring message {shown(name, 100)!r}; list shows which there are")
    return found


def _checked(reason: str) -> str:
    try:
        check_reason(reason)
    except BadRequest as error:
        raise CommandError(str(error), returncode=2) from None
    return reason


def _shown(row: RecurringMessage) -> dict[str, Any]:
    return recurring_json(row, row.ticks.first(), payload=True)


def _user() -> str:
    return f"{getpass.getuser()} (command line)"


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
