"""The console's tables, changed by a release that is not this one."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.core.checks import Tags, run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from console.checks import what_the_console_needs
from console.database import refuse_unknown_tables


@pytest.mark.django_db
def test_tables_of_a_newer_release_are_refused() -> None:
    refuse_unknown_tables()
    assert run_checks(tags=[Tags.database], databases=["default"]) == []
    MigrationRecorder(connection).record_applied("console", "0999_what_comes")
    for command in (["keeper"], ["jobs", "default"], ["migrate"]):
        with pytest.raises(SystemCheckError, match="0999_what_comes"):
            call_command(*command, verbosity=0, **({"skip_checks": False} if command == ["migrate"] else {}))


@pytest.mark.parametrize(("engine", "refused"), [("mysql", True), ("postgresql", False), ("sqlite3", False)])
def test_a_project_whose_own_database_cannot_be_the_consoles_is_told(
    monkeypatch: pytest.MonkeyPatch, engine: str, refused: bool
) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", f"django.db.backends.{engine}")
    assert ("console.E026" in [each.id for each in what_the_console_needs(None)]) == refused
