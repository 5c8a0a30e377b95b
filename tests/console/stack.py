"""A whole installation as `manage.py up` runs it, in processes of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from console.config.environment import BASE_DIR
from rmq_core import RMQ
from rmq_core.embedded.ports import free_port
from tests.console.shell import Shell
from tests.support.spark import SUBMIT_ARGS
from tests.support.waiting import wait_until

START_S = 180
"""Six processes and a database: seconds on a quiet machine, minutes on a busy one."""


class Stack:
    """`with Stack(folder) as stack:` is ready when the block begins, and gone after it."""

    program = (sys.executable, str(BASE_DIR / "manage.py"))

    def __init__(self, folder: Path, *arguments: str, **environ: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}{environ.get('RMQ_FORCE_SCRIPT_NAME', '')}"
        self._arguments = arguments
        base = {"PATH": os.environ["PATH"], "RMQ_DATA_DIR": str(folder), "PYSPARK_SUBMIT_ARGS": SUBMIT_ARGS}
        self._environ = base | {"RMQ_NAMESPACE": "rmq", "RMQ_SAMPLE_INTERVAL_MS": "300"} | environ
        self._log = folder.with_suffix(".log")
        self.process: subprocess.Popen[bytes] | None = None
        self._shell: Shell | None = None
        self.cookies: dict[str, Any] = {}
        """Of who has signed in, for the browser."""

    def start(self) -> Self:
        command = [*self.program, "up", "--port", str(self.port), *self._arguments]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, env=self._environ, stdout=log, stderr=log)
        wait_until(self.ready, timeout_s=START_S, what=f"everything answers; its log:\n{self.log[-3000:]}")
        return self

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def health(self) -> dict[str, Any]:
        try:
            with urllib.request.urlopen(f"{self.address}/api/v1/health/ready", timeout=60) as answer:
                return json.load(answer)
        except (OSError, urllib.error.URLError):
            return {}

    def ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log
        return self.health().get("status") == "ok"

    @property
    def redis_url(self) -> str:
        return (self.folder / "redis_url").read_text().strip()

    def client(self) -> RMQ:
        return RMQ(self.redis_url)

    def children(self) -> dict[int, str]:
        """Process ids and command lines of everything `up` has started."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                status = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if int(status[1]) == self.pid and status[0] != "Z":
                found[int(entry.name)] = command
        return found

    def manage(self, code: str) -> str:
        """Run Python in the installation's Django; returns what it prints."""
        if self._shell is None:
            self._shell = Shell(self.program, self._environ | {"RMQ_REDIS_URL": self.redis_url})
        return self._shell.run(code)

    def sql(self, statement: str) -> None:
        """Change a row behind the console's back; Django takes seconds to start."""
        with closing(sqlite3.connect(self.folder / "console.sqlite3", timeout=20)) as database, database:
            database.execute(statement)

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Ask it to end; returns its exit code."""
        assert self.process is not None
        self._end_shell()
        self.process.send_signal(number)
        return self.process.wait(START_S)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process is not None
        self._end_shell()
        if self.process.poll() is None:
            self.stop()

    def _end_shell(self) -> None:
        if self._shell is not None:
            self._shell.close()
            self._shell = None

    def port_is_free(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) != 0
