"""Running a piece of Python in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[[str], list[int]]:
    """Run code to its end, whatever that is, and return the integers it printed."""
    environment = os.environ | {"TMPDIR": str(tmp_path)}  # a process that is killed cannot tidy up

    def run(code: str) -> list[int]:
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.stdout, ran.stderr
        return [int(word) for word in ran.stdout.split()]

    return run
