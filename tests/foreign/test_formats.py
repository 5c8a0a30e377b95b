"""What a newer release has written is refused by whatever serves the console, in its own project and in another."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.foreign.installation import ROOT

NEWER = """
create table django_migrations (id integer primary key, app text, name text, applied datetime);
insert into django_migrations (app, name, applied) values ('console', '0999_what_comes', '2030-01-01');
"""
AT_ONCE = "import {module}"
IN_A_LOOP = """
import asyncio, importlib
async def load(): importlib.import_module("{module}")
asyncio.run(load())
"""
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

    def load(way: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", way.format(module=module)]
        return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120, check=False)

    before = load(IN_A_LOOP)
    assert before.returncode == 0, before.stderr
    with closing(sqlite3.connect(tmp_path / "console.sqlite3")) as database:
        database.executescript(NEWER)
    for way in (AT_ONCE, IN_A_LOOP):
        after = load(way)
        assert after.returncode == 1, way
        assert "SystemCheckError" in after.stderr and "0999_what_comes" in after.stderr.splitlines()[-1]
