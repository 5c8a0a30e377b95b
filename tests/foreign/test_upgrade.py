"""What an upgrade does with data of a project whose people are named otherwise than Django's own."""

from __future__ import annotations

import json
from pathlib import Path

from tests.foreign.installation import EMAIL, Shop

UPGRADE = """
import json
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from console.models import PipelineSchedule
from tests.foreign.shop.models import Person

call_command("migrate", verbosity=0)
call_command("migrate", "console", "0035", verbosity=0)
person = Person.objects.create_superuser({email!r}, "x")
before = MigrationExecutor(connection).loader.project_state(("console", "0035_receivers_changed")).apps
schedules = before.get_model("console", "PipelineSchedule").objects
for name in (person.email, "somebody who is gone"):
    schedules.create(kind="reconcile", every_ms=3_600_000, username=name)
call_command("migrate", verbosity=0)
print(json.dumps([each.user and each.user.email for each in PipelineSchedule.objects.order_by("pk")]))
"""


def test_schedules_are_given_to_the_accounts_of_that_name(tmp_path: Path) -> None:
    shop = Shop(tmp_path, "redis://127.0.0.1:1/0", f"sqlite:///{tmp_path}/shop.sqlite3", "plain")
    try:
        assert json.loads(shop.shell(UPGRADE.format(email=EMAIL))) == [EMAIL, None]
    finally:
        shop.__exit__()
