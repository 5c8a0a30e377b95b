"""Every block of code in README and documents does what its page says; see `tests.docs.blocks` for how it is run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from pathlib import Path

import click
import pytest
import yaml

from console.command import SECTIONS
from rmq_core.cli.main import group
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.pipeline.__main__ import parser
from tests.docs.blocks import LANGUAGES, ROOT, Block, blocks, pages
from tests.support.missing import missing

ALL = [block for page in pages() for block in blocks(page)]
RUN = sorted({block.page for block in ALL if block.is_run})
READ = {
    "json": json.loads,
    "yaml": yaml.safe_load,
    "toml": tomllib.loads,
    "ini": ConfigParser(interpolation=None).read_string,
}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", RUN, ids=name)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    # A reader's terminal has none of what the tests have in theirs.
    environ = {key: os.environ[key] for key in ("HOME", "LANG", "TMPDIR") if key in os.environ}
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with EmbeddedRedis() as server:  # of its own: a reader is in the default namespace
        environ |= {"PATH": programs, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        environ |= {"RMQ_URL": server.url, "RMQ_REDIS_URL": server.url, "RMQ_DATA_DIR": str(tmp_path / "data")}
        run = [sys.executable, "-m", "tests.docs.run_page", str(page)]
        ran = subprocess.run(
            run, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("block", ALL, ids=lambda block: block.where)
def test_a_block_can_be_read(block: Block) -> None:
    """Also those that are not run: one that cannot be parsed was never tried."""
    assert block.language in LANGUAGES, "say which language it is; `text` for what is no code"
    if block.language == "python":
        compile(block.code, block.where, "exec")
    elif block.language == "sh":
        subprocess.run(["bash", "-n"], input=block.code, text=True, check=True)
    elif block.language == "js":
        if shutil.which("node") is None:
            missing("node")
        read = ["node", "--input-type=module", "--check", "-"]
        ran = subprocess.run(read, input=block.code, text=True, capture_output=True, check=False)
        assert ran.returncode == 0, ran.stderr
    elif block.language in READ:
        READ[block.language](block.code)


@pytest.mark.parametrize("page", pages(), ids=name)
def test_no_block_is_overlooked(page: Path) -> None:
    """Every fence belongs to a block; each is run by us or by a test that is named, read as data, or says why not."""
    found = blocks(page)
    fences = [line for line in page.read_text().splitlines() if line.lstrip().startswith(("```", "~~~"))]
    assert len(fences) == 2 * len(found)
    for block in found:
        marked = block.how in {"not run", "run by"}
        assert block.is_run or marked or block.language in {*READ, "text"}, block.where


@pytest.mark.parametrize("block", [each for each in ALL if each.how == "not run"], ids=lambda block: block.where)
def test_the_commands_that_are_not_run_are_such(block: Block) -> None:
    """What they are given is understood, if not done."""
    context = click.Context(root := group(SECTIONS, ""))
    for line in block.code.splitlines():
        for part in line.partition("#")[0].split("&&"):
            program, *given = shlex.split(part) or [""]
            if program != "rmq":
                continue
            if given[0] in {"archive", "reconcile"} or "--archive" in given:
                parser("rmq").parse_args(given)
            else:
                command = root.get_command(context, given[0])
                assert command is not None, line
                command.make_context(given[0], given[1:])


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    not_run = [block for block in ALL if block.how == "not run"]
    assert all(len(block.what) > 10 for block in not_run)
    assert len(not_run) <= 8
    for block in ALL:
        if block.how == "run by":
            assert block.page.name in (ROOT / block.what).read_text(), block.where


def test_the_tests_that_pages_name_are_there() -> None:
    """A name without a folder is of the folder that was named last."""
    for page in pages():
        folder = ROOT
        for reported in re.findall(r"`(tests/[\w./]+|test_\w+\.py)`", page.read_text()):
            path = ROOT / reported if "/" in reported else folder / reported
            assert path.exists(), f"{page}: {reported}"
            folder = path.parent
