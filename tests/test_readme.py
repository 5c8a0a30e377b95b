"""The README's quick start, run as a reader would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rmq_core.embedded.redis import EmbeddedRedis
from tests.support.waiting import wait_until

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with the files the README shows, by the name in their first line."""
    blocks = re.findall(r"^```python\n# (\S+\.py)\n(.*?)^```", README, re.M | re.S)
    assert [name for name, _ in blocks] == ["shop.py", "send.py", "test_shop.py"]
    for name, code in blocks:
        (tmp_path / name).write_text(code)
    return tmp_path


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    # A server of its own: a reader's application is in the default namespace.
    with EmbeddedRedis() as server:
        yield os.environ | {"RMQ_URL": server.url, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}


def letters(text: str) -> list[str]:
    """What was printed, in any order: listeners that run at once print into each other's lines."""
    return sorted("".join(text.split()))


def test_the_quick_start_does_what_it_says(shop: Path, environment: dict[str, str]) -> None:
    subprocess.run([sys.executable, "send.py"], cwd=shop, env=environment, check=True, timeout=60)
    output = shop / "output"
    # Each once, and 4712 was cancelled.
    expected = """
        refresh the price of sku-17
        mail to newsletter@example.com with priority 20
        mail to password-reset@example.com with priority 900
        remind the customer of order 4711
    """
    with output.open("w") as out:
        worker = subprocess.Popen(
            [sys.executable, "-m", "rmq_core", "worker", "shop"], cwd=shop, env=environment, stdout=out
        )
        try:
            wait_until(lambda: letters(output.read_text()) == letters(expected), timeout_s=60, what="all to be printed")
        finally:
            worker.terminate()
            assert worker.wait(30) == 0
    assert letters(output.read_text()) == letters(expected)


def test_the_quick_starts_own_test_passes(shop: Path, environment: dict[str, str]) -> None:
    (shop / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    command = [sys.executable, "-m", "pytest", "-q", "test_shop.py"]
    ran = subprocess.run(command, cwd=shop, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_document_it_names_is_there() -> None:
    named = re.findall(r"`([\w./-]+(?:\.md|\.yml|\.py|\.txt|\.example|/))`", README)
    named += re.findall(r"\]\(([^)#:]+)\)", README)
    made_at_run_time = {"var/", "build/site/"}
    assert [name for name in named if not (ROOT / name).exists() and name not in made_at_run_time] == []
    assert len(named) > 15


def test_every_setting_is_in_its_table() -> None:
    read = set(re.findall(r'env\.\w+\("([A-Z_]+)"', (ROOT / "console" / "config" / "environment.py").read_text()))
    told = set(re.findall(r"`([A-Z_]+)`", README))
    assert len(read) > 15
    assert read - told == set()
