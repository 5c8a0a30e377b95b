"""What a newer release has written is refused by whatever serves the console, in its own project and in another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.foreign.installation import ROOT

NEWER = """
create table django_migrations (id integer primary key, app text, name text, applied datetime);
insert into django_migrations (app, name, applied) values ('console', '0999_what_comes', '2030-01-01');
"""
LOAD = """
import asyncio, importlib, sqlite3, sys
from contextlib import closing
from django.core.management.base import SystemCheckError

async def load_in_a_loop():
    importlib.import_module("{module}")

asyncio.run(load_in_a_loop())
print("served")
with closing(sqlite3.connect("{database}")) as database:
    database.executescript({newer!r})
for load in (lambda: importlib.import_module("{module}"), lambda: asyncio.run(load_in_a_loop())):
    sys.modules.pop("{module}", None)
    try:
        load()
    except SystemCheckError as error:
        print(error)
    else:
        print("served")
"""
"""As a server does that loads its application, in its loop or before: Django takes seconds to start, so by one process
what there is to be served, and to be refused after a newer release was there."""
SETTINGS = {
    "console.config.asgi": "console.config.settings",
    "console.config.wsgi": "console.config.settings",
    "tests.foreign.shop.asgi": "tests.foreign.shop.settings",
}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """For both projects, over one SQLite file."""
    tmp_path.chmod(0o700)
    address = f"sqlite:///{tmp_path}/console.sqlite3"
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    mine = {"RMQ_DATA_DIR": str(tmp_path), "RMQ_DATABASE_URL": address, "RMQ_SECRET_KEY": "".join(map(str, range(40)))}
    theirs = {"SHOP_REDIS": "redis://127.0.0.1:6379/0", "SHOP_DATABASE": address, "SHOP_ADMIN": "plain"}
    return {**kept, **mine, **theirs, "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(tmp_path)}


@pytest.mark.parametrize("module", SETTINGS)
def test_tables_of_a_newer_release_are_not_served(module: str, environ: dict[str, str], tmp_path: Path) -> None:
    environ["DJANGO_SETTINGS_MODULE"] = SETTINGS[module]

    code = LOAD.format(module=module, database=tmp_path / "console.sqlite3", newer=NEWER)
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    before, at_once, in_a_loop = ran.stdout.splitlines()
    assert before == "served"
    assert "0999_what_comes" in at_once and "0999_what_comes" in in_a_loop
