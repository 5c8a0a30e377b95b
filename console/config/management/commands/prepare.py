"""`manage.py prepare`: what `up` does before it starts the console; prints what is to be said, as JSON."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from console.demo.watch import ensure_schedules
from console.options import options as console_options
from console.supervise.account import ensure_admin
from console.supervise.folder import DataFolder
from console.supervise.sharing import share_slots


class Command(BaseCommand):
    help = "Bring the database up to date and make the first user, as `up` does; prints JSON."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--share-slots", action="store_true", help="nobody owns slots: hand them all back")
        parser.add_argument("--demo", action="store_true", help="archive and reconcile the demo on schedule")

    def handle(self, *args: Any, **options: Any) -> None:
        said: list[str] = []
        call_command("migrate", verbosity=0, interactive=False, skip_checks=False)
        account = ensure_admin(DataFolder(settings.DATA_DIR))
        if options["share_slots"]:
            share_slots(console_options().redis_url, said.append)
        if options["demo"] and not ensure_schedules():
            said.append("Spark is not installed (the extra 'pipeline'): the demo is not reconciled")
        self.stdout.write(json.dumps({"account": account, "said": said}))
