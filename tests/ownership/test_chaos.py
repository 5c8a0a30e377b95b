"""The faults of `tests.chaos`, ended before their time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support.descendants import descendants
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.zookeeper, pytest.mark.usefixtures("zookeeper_parts")]


@pytest.fixture
def chaos(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """It runs, and its workers do."""
    command = [sys.executable, "-m", "tests.chaos", "--rounds", "1000", "--only", "is killed (SIGKILL)"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=log, stderr=log, env=os.environ | {"TMPDIR": str(tmp_path)}
        )
    started: set[int] = set()

    def at_work() -> bool:
        assert process.poll() is None, (tmp_path / "log").read_text()
        started.update(descendants(process.pid))
        return sum(map(is_forked, started)) > 3  # three, and what they are forked from

    try:
        wait_until(at_work, timeout_s=120, what="its workers to run")
        yield process
    finally:
        process.kill()
        process.wait()
        for pid in filter(is_forked, started):
            os.kill(pid, signal.SIGKILL)


def is_forked(pid: int) -> bool:
    """Whether a process is there, and is a `Program` or what those are forked from."""
    with contextlib.suppress(OSError):
        return b"forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def has_log(folder: Path, pid: int) -> bool:
    """Whether a `Program` writes its own log already: from then on it ends with the tests."""
    with contextlib.suppress(OSError):
        return is_forked(pid) and Path(f"/proc/{pid}/fd/1").readlink().parent.parent == folder.resolve()
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_who_ends_it_ends_its_workers(chaos: subprocess.Popen[bytes], number: signal.Signals, tmp_path: Path) -> None:
    """And SIGTERM tidies away."""
    assert any(tmp_path.glob("fleet-*"))
    frozen = wait_until(
        lambda: max(filter(partial(has_log, tmp_path), descendants(chaos.pid)), default=0), what="a worker of the fleet"
    )
    os.kill(frozen, signal.SIGSTOP)  # in the middle of a fault: this one cannot end by itself
    below = set(filter(is_forked, descendants(chaos.pid)))
    chaos.send_signal(number)
    code = chaos.wait(60)
    wait_until(lambda: not any(map(is_forked, below)), what="the workers to end")
    if number == signal.SIGTERM:
        assert code == 128 + signal.SIGTERM
        assert [path.name for path in tmp_path.iterdir()] == ["log"]
