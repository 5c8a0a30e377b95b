"""What Java loads for Spark is kept in a file, and Spark starts from it, or well without it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rmq_core.embedded.java import find_java
from rmq_core.pipeline import __main__ as program
from rmq_core.pipeline import class_cache
from rmq_core.pipeline.__main__ import main

# What else is loaded is its own matter.
KEEP = """
import shlex, shutil, sys
sys.prefix = sys.argv[1]
from rmq_core.pipeline.__main__ import main
from rmq_core.pipeline.program import keep_classes
keep_classes._a_bit_of_everything = lambda session, folder: None
if sys.argv[3:]:
    part = lambda options: shlex.split(options)[-1].rpartition("=")[2]
    keep_classes._record = lambda options, folder, log: shutil.copy(sys.argv[3], part(options))
raise SystemExit(main(["keep-classes", "--log", sys.argv[2]]))
"""
LOOK = """
import sys
sys.prefix = sys.argv[1]
from rmq_core.pipeline.session import open_session
session = open_session("look", log=sys.argv[2])
java = session.sparkContext._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
print([each for each in java.getInputArguments() if ".classes" in each], session.range(3).count())
session.stop()
"""


@pytest.fixture(autouse=True)
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    prefix = tmp_path / "Ann's own"  # spaces and quotes are legal there
    prefix.mkdir()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    for name in ("SPARK_MASTER", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    return prefix


def run(program: str, prefix: Path, *more: Path, code: int = 0) -> str:
    """What it says: on standard output, or why it failed."""
    command = [sys.executable, "-c", program, str(prefix), str(prefix / "log"), *map(str, more)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=prefix)
    assert ran.returncode == code, ran.stderr[-4_000:]
    return (ran.stderr if code else ran.stdout).strip()


def test_spark_starts_from_what_was_kept_and_without_what_was_cut_off(prefix: Path) -> None:
    left = class_cache.folder() / ".spark-of-one-that-was-killed"
    left.mkdir(parents=True)
    (left / "part").touch()
    (class_cache.folder() / f"{class_cache.name_for(find_java())}-0.classes").touch()  # of a run before
    said = run(KEEP, prefix)
    kept = class_cache.kept(find_java())
    assert kept is not None and said.startswith(f"{kept}: ")
    assert [each for each in kept.parent.iterdir() if each != kept] == [], "nothing else stays"
    assert run(LOOK, prefix) == f"{shlex.split(class_cache.used(find_java()))} 3"
    kept.chmod(0o600)
    with kept.open("r+b") as file:
        file.truncate(kept.stat().st_size // 2)
    assert class_cache.used(find_java()) == ""
    assert run(KEEP, prefix, kept, code=1).startswith("Spark does not start from what Java kept: ")
    assert [*kept.parent.iterdir()] == [kept]


def test_a_file_is_of_one_java_and_one_spark(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = find_java()
    names = {class_cache.name_for(each) for each in (java, replace(java, version=99), replace(java, program=prefix))}
    monkeypatch.setenv("SPARK_HOME", str(prefix))
    assert len(names | {class_cache.name_for(java)}) == 4
    assert class_cache.used(java) == ""
    folder = class_cache.folder()
    folder.mkdir(parents=True)
    (folder / f"{class_cache.name_for(java)}-3.classes").write_text("no")
    assert class_cache.used(java) == "", "its size is not what its name says"
    (folder / f"{class_cache.name_for(java)}-2.classes").write_text("no")
    assert class_cache.used(java).endswith("-2.classes'")


@pytest.mark.parametrize(
    ("version", "used", "recorded"),
    [(17, "-XX:SharedArchiveFile=", "-XX:ArchiveClassesAtExit=x"), (25, "-XX:AOTCache=", "-XX:AOTCacheOutput=x")],
)
def test_newer_javas_have_other_options(version: int, used: str, recorded: str) -> None:
    java = replace(find_java(), version=version)
    folder = class_cache.folder()
    folder.mkdir(parents=True)
    (folder / f"{class_cache.name_for(java)}-0.classes").touch()
    assert shlex.split(class_cache.used(java))[0].startswith(used)
    assert class_cache.recorded(java, Path("x")) == recorded


def test_what_cannot_be_kept_is_said_in_a_sentence(
    prefix: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (prefix / "share").touch()
    assert main(["keep-classes"]) == 1
    assert capsys.readouterr().err.startswith(f"cannot keep what Java loads in {prefix}/share/rmq: ")
    monkeypatch.setenv("SPARK_MASTER", "spark://host:7077")
    assert main(["keep-classes"]) == 1
    assert capsys.readouterr().err.startswith("unset SPARK_MASTER and SPARK_REMOTE")


def test_who_is_asked_to_end_ends(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(log: str | None) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "keep_classes", interrupted)
    assert main(["keep-classes"]) == 130
    assert capsys.readouterr().err == f"{program.INTERRUPTED}\n"
