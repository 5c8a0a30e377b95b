"""The data folder is for its owner alone, whoever made it and whatever the umask was."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from redis import AuthenticationError, Redis

from rmq_core.embedded.redis import EmbeddedRedis
from tests.console.stack import Stack
from tests.embedded.test_privacy import open_to_others
from tests.support.rmq_command import manage as command
from tests.support.servers import server_of
from tests.support.waiting import wait_until


def manage(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process with a careless umask."""
    return command(*arguments, umask=0, RMQ_DATA_DIR=str(folder))


def test_a_new_folder_and_its_database_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    assert manage(folder, "migrate", "-v0").returncode == 0
    assert (folder / "console.sqlite3").exists()
    assert open_to_others(folder) == []


def test_what_an_older_release_left_open_is_closed_and_no_more_than_that(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name in ("console.sqlite3", "console.sqlite3-wal", "reports/1/log", "archive/events/part", "redis/redis.conf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "somebody's").touch()
    for path in tmp_path.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert manage(tmp_path, "check").returncode == 0
    assert [line.rsplit("/", 1)[1] for line in open_to_others(tmp_path)] == ["somebody's"]
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


@pytest.mark.parametrize("reason", ["holds what others use", "belongs to user 65534"])
def test_a_folder_that_is_not_ours_is_refused_in_a_sentence(tmp_path: Path, reason: str) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.txt").touch()
    if reason.startswith("belongs"):
        if os.geteuid() != 0:
            pytest.skip("only root gives folders away")
        os.chown(tmp_path, 65_534, -1)
    ran = manage(tmp_path, "check")
    assert ran.returncode != 0
    assert f"RMQ_DATA_DIR: the data folder {tmp_path}" in ran.stderr and reason in ran.stderr
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_up_goes_on_in_the_folder_of_an_older_release_behind_a_link(tmp_path: Path) -> None:
    folder, link = tmp_path / "data", tmp_path / "link"
    folder.mkdir(mode=0o755)
    link.symlink_to(folder)
    old = EmbeddedRedis(folder / "redis", appendonly=True, password="", executable=server_of("redis-6.2"))
    with old, old.client() as client:
        client.set("kept", "yes")
    (folder / "redis" / "written_by").unlink()
    (folder / "redis_port").write_text(f"{old.port}\n")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with Stack(link, "--shared") as stack:
        with Redis.from_url(stack.redis_url) as client:
            assert client.get("kept") == b"yes"
            assert client.connection_pool.connection_kwargs["port"] == old.port
        with Redis(port=old.port) as outsider, pytest.raises(AuthenticationError):
            outsider.get("kept")
        wait_until(lambda: "ready:" in stack.log, what="it is ready")
        assert open_to_others(folder) == []
        secret = (folder / "redis" / "password").read_text().strip()
        assert secret in stack.redis_url and secret not in stack.log
        assert not any(secret in command for command in stack.children().values())
