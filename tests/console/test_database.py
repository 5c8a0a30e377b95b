"""The console's tables, changed by a release that is not this one."""

from __future__ import annotations

import pytest
from django.core.checks import Tags, run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from console.database import refuse_unknown_tables


@pytest.mark.django_db
def test_tables_of_a_newer_release_are_refused() -> None:
    refuse_unknown_tables()
    assert run_checks(tags=[Tags.database], databases=["default"]) == []
    MigrationRecorder(connection).record_applied("console", "0999_what_comes")
    for command in (["keeper"], ["jobs", "default"], ["migrate"]):
        with pytest.raises(SystemCheckError, match="0999_what_comes"):
            call_command(*command, verbosity=0, **({"skip_checks": False} if command == ["migrate"] else {}))
