"""What the console asks of its database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register, run_checks
from django.core.management.base import SystemCheckError
from django.db import DatabaseError, connections
from django.db.migrations.loader import MigrationLoader

APP = "console"


@register(Tags.database)
def tables_are_known(databases: Sequence[str] | None = None, **_: Any) -> list[Error]:
    """Tables that a newer release has changed would be misread, or lose what this one does not know."""
    found = []
    for alias in databases or ():
        try:
            loader = MigrationLoader(connections[alias])
        except DatabaseError:
            continue  # whoever needs it says that it is away
        known = loader.disk_migrations
        newer = sorted(name for app, name in loader.applied_migrations if app == APP and (app, name) not in known)
        if newer:
            found.append(
                Error(
                    f"The console's tables in database {alias!r} were changed by a newer release: {', '.join(newer)}.",
                    hint="Use that release or a newer one, or migrate back with it before this one is installed.",
                    id="console.E010",
                )
            )
    return found


def refuse_unknown_tables() -> None:
    """Raises `SystemCheckError` where a newer release has changed the tables."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        problems = _problems()
    else:  # of a server that loads its application in it, where Django speaks to no database
        with ThreadPoolExecutor(1) as elsewhere:
            problems = elsewhere.submit(_problems_and_close).result()
    if errors := [each for each in problems if each.id == "console.E010"]:
        raise SystemCheckError("\n".join(f"{each.msg} {each.hint}" for each in errors))


def _problems() -> Sequence[CheckMessage]:
    return run_checks(tags=[Tags.database], databases=["default"])


def _problems_and_close() -> Sequence[CheckMessage]:
    try:
        return _problems()
    finally:
        connections.close_all()
