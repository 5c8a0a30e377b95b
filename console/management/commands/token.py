"""`rmq token create|list|revoke`: API tokens, without a browser."""

from __future__ import annotations

import argparse
import getpass
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, transaction
from django.utils import timezone

from console.access import EVERY_TOPIC, ROLES, split_patterns
from console.models import ApiToken
from console.models.tokens import RATE_DEFAULT, RATE_MAX
from console.usecases import tokens
from console.usecases.audit import note
from console.usecases.tokens import DAYS_DEFAULT, DAYS_MAX


class Command(BaseCommand):
    help = "Make, list and revoke API tokens."
    requires_system_checks: list[str] = []  # they would load every page

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        create = actions.add_parser("create", help="make one; its secret is printed once, and kept nowhere")
        create.add_argument("name", help="who or what uses it; shown in the audit")
        create.add_argument("--role", choices=ROLES, default="Viewer", help="(Viewer)")
        create.add_argument("--topics", default=EVERY_TOPIC, help="names or patterns, several between commas (all)")
        create.add_argument(
            "--days", type=_up_to(DAYS_MAX), default=DAYS_DEFAULT, help=f"how long it works ({DAYS_DEFAULT})"
        )
        create.add_argument(
            "--rate", type=_up_to(RATE_MAX), default=RATE_DEFAULT, help=f"requests per minute ({RATE_DEFAULT})"
        )
        listing = actions.add_parser("list", help="all that were made, newest first")
        revoke = actions.add_parser("revoke", help="end one now")
        revoke.add_argument("prefix", help="what it begins with, as list shows it")
        for each in (create, listing, revoke):
            each.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        acts: dict[str, Callable[..., None]] = {"create": self._create, "list": self._list, "revoke": self._revoke}
        try:
            acts[action](**options)
        except DatabaseError as error:
            raise CommandError(f"the console's database cannot be used ({error}); migrate prepares it") from None

    def _create(self, name: str, role: str, topics: str, days: int, rate: int, **options: Any) -> None:
        token = ApiToken(name=name, role=role, topics=", ".join(split_patterns(topics)), rate_per_minute=rate)
        token.expires_at = timezone.now() + timedelta(days=days)
        secret = tokens.give_secret(token)
        try:
            token.full_clean()
        except ValidationError as error:
            problems = (f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items())
            raise CommandError("; ".join(problems), returncode=2) from None
        with transaction.atomic():
            token.save()
            _write_down("create_token", token)
        if options["json"]:
            self.stdout.write(json.dumps(_shown(token) | {"secret": secret}, indent=2))
            return
        self.stdout.write(secret)
        until = token.expires_at.date().isoformat()
        self.stderr.write(f"{token}: {role}, topics {token.topics}, until {until}. It is not shown again.")

    def _list(self, **options: Any) -> None:
        found = [_shown(token) for token in ApiToken.objects.all()]
        if options["json"]:
            self.stdout.write(json.dumps(found, indent=2))
            return
        if not found:
            self.stdout.write("no tokens")
        for each in found:
            until, about = str(each["expires_at"])[:10], f"{each['role']} of {each['topics']}"
            self.stdout.write(f"{each['prefix']:<14} {each['state']:<8} until {until}  {each['name']}: {about}")

    def _revoke(self, prefix: str, **options: Any) -> None:
        found = list(ApiToken.objects.filter(prefix__startswith=prefix)[:2]) if prefix else []
        if len(found) != 1:
            raise CommandError(f"{'several tokens begin' if found else 'no token begins'} with {prefix!r}")
        with transaction.atomic():
            if not tokens.revoke(found[0]):
                raise CommandError(f"{found[0]} was revoked before")
            _write_down("revoke_token", found[0])
        found[0].refresh_from_db()
        said = json.dumps(_shown(found[0]), indent=2) if options["json"] else f"{found[0]} opens nothing any more"
        self.stdout.write(said)


def _shown(token: ApiToken) -> dict[str, Any]:
    """What may be known of it: not its secret."""
    return {
        "name": token.name,
        "prefix": token.prefix,
        "role": token.role,
        "topics": token.topics,
        "state": token.state.value,
        "expires_at": token.expires_at.isoformat(),
        "last_used_at": token.last_used_at and token.last_used_at.isoformat(),
    }


def _up_to(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or len(text) > 10 or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from 1 to {most}")
        return int(text)

    return number


def _write_down(action: str, token: ApiToken) -> None:
    query = {"token": str(token), "role": token.role, "topics": token.topics}
    note(action, username=f"{getpass.getuser()} (command line)", query=query, done=1, via="command")
