"""``python -m tests.docs.run_page PAGE``: does what the page says, from above, in the folder it is started in.

Files are written, Python goes on where the block before it ended, and shells are new ones, as in a reader's terminals.
The Redis is that of ``RMQ_URL``, also where a page names the usual one.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.docs.blocks import blocks

USUAL_URL = "redis://localhost:6379/0"
PATIENCE_S = 60


def main(page: Path) -> None:
    todo = blocks(page)
    names: dict[str, Any] = {"__name__": "__main__"}
    sys.path.insert(0, str(Path.cwd()))
    for block, after in zip(todo, [*todo[1:], None], strict=True):
        if not block.is_run:
            continue
        print("---", block.where, flush=True)
        code = block.code.replace(USUAL_URL, os.environ["RMQ_URL"])
        output = after.code if after and after.how == "output" else ""
        if block.how == "added to":
            with Path(block.what).open("a") as file:
                file.write(code)
        elif block.file:
            Path(block.file).write_text(code)
        elif block.language == "python":
            # Errors name the page and its line.
            exec(compile("\n" * (block.line - 1) + code, page, "exec"), names)
        elif block.language == "sh":
            run_shell(code, output, runs_on=block.how == "runs on")
        else:
            run_console(code)


def run_shell(code: str, output: str, *, runs_on: bool) -> None:
    out = Path("output")
    with out.open("w") as file:
        shell = subprocess.Popen(["bash", "-euo", "pipefail", "-c", code], stdout=file, start_new_session=True)
        try:
            if runs_on:
                wait_for(output, out, shell)
                os.killpg(shell.pid, signal.SIGINT)
            status = shell.wait(PATIENCE_S)
        finally:
            if shell.poll() is None:
                os.killpg(shell.pid, signal.SIGKILL)
    printed = out.read_text()
    assert status == 0 or (runs_on and status in (130, -signal.SIGINT)), f"status {status}\n{printed}"
    if output:
        assert letters(printed) == letters(output), printed


def wait_for(output: str, file: Path, shell: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE_S
    while letters(file.read_text()) != letters(output):
        assert shell.poll() is None and time.monotonic() < end, file.read_text()
        time.sleep(0.02)


def letters(text: str) -> list[str]:
    """In any order: listeners that run at once print into each other's lines."""
    return sorted("".join(text.split()))


def run_console(text: str) -> None:
    """``$ command`` and what it prints: line by line, any digits for digits, and anything for ``…``."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *expected = part.rstrip("\n").split("\n")
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        )
        printed = ran.stdout.rstrip("\n").split("\n") if ran.stdout else []
        assert len(printed) == len(expected), f"{command}\n{ran.stdout}"
        for line, reported in zip(printed, expected, strict=True):
            assert re.fullmatch(pattern(reported), line.rstrip()), f"{command}\ntold:    {reported}\nprinted: {line}"


def pattern(line: str) -> str:
    escaped = re.escape(line.rstrip()).replace("…", ".*")
    return re.sub(r"(?:\\ )+", r"\\s+", re.sub(r"\d+", r"\\d+", escaped))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
