"""Child processes that cannot outlive the run that started them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_STOP_S = 10.0


class ProgramFailed(RuntimeError):
    """A child process failed or ran too long; the message carries the end of what it printed."""


def stop_group(process: subprocess.Popen[bytes], patience_s: float = _STOP_S) -> None:
    """Ends a process started with start_new_session, and everything it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(patience_s)
    deadline = time.monotonic() + patience_s
    while _group_lives(process.pid) and time.monotonic() < deadline:
        process.poll()
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@contextlib.contextmanager
def sigterm_raises() -> Iterator[None]:
    """Makes SIGTERM unwind the stack like Ctrl-C does, so that `finally` blocks stop the children."""

    def leave(signum: int, _frame: object) -> None:
        raise SystemExit(128 + signum)

    previous = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def output_of(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout_s: float) -> str:
    """What `command` prints on stdout. Raises ProgramFailed with the end of its stderr otherwise.

    Its stdin is a pipe that stays empty and ends with this process, so that it can tell when it is on its own.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=errors,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout_s)
            problem = f"exited with {code}" if code else ""
        except subprocess.TimeoutExpired:
            problem = f"was still running after {timeout_s:.0f} s"
        finally:
            stop_group(process)
            if process.stdin:
                process.stdin.close()
        out.seek(0)
        errors.seek(0)
        printed = out.read().decode(errors="replace")
        if problem:
            tail = "\n".join((printed + errors.read().decode(errors="replace")).splitlines()[-25:])
            raise ProgramFailed(f"{' '.join(command)} {problem}; its last lines:\n{tail}")
        return printed
