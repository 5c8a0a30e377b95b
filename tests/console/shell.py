"""Python inside an installation: one process for all that is asked of it, for Django takes seconds to start."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence

END_S = 60
# Code comes line by line, each as JSON; what it printed goes back, and the traceback where it failed.
ANSWERS = """
import contextlib, io, json, sys, traceback
from django.db import close_old_connections
for line in sys.stdin:
    printed, failed = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(printed):
            exec(json.loads(line), {"__name__": "__main__"})
    except Exception:
        failed = traceback.format_exc()
    close_old_connections()
    print(json.dumps([printed.getvalue(), failed]), flush=True)
"""


class Shell:
    """What one piece of code imports and names, the next one does not see."""

    def __init__(self, program: Sequence[str], environ: Mapping[str, str]) -> None:
        command = [*program, "shell", "-v0", "-c", ANSWERS]
        self._process = subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, code: str) -> str:
        """Returns what it prints."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(code) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "it has ended, and says on standard error why"
        printed, failed = json.loads(answer)
        assert not failed, failed
        return str(printed)

    def close(self) -> None:
        self._process.communicate(timeout=END_S)
