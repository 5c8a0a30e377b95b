"""Every block of code in README and documents does what its page says; see `tests.docs.blocks` for how it is run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml

from rmq_core.embedded.redis import EmbeddedRedis
from tests.docs.blocks import LANGUAGES, ROOT, Block, blocks, pages

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
    elif block.language in READ:
        READ[block.language](block.code)


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    not_run = [block for block in ALL if block.how == "not run"]
    assert all(len(block.what) > 10 for block in not_run)
    assert len(not_run) <= 20
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
