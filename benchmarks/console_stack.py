"""The console's processes for a benchmark, in a private folder: keeper, web server, somebody signed in."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from benchmarks.processes import stop_group
from rmq_core.embedded.ports import free_port

ROOT = Path(__file__).parent.parent
MANAGE = [sys.executable, "-m", "console"]
TICKS = os.sysconf("SC_CLK_TCK")
SIGN_IN = """
from django.contrib.auth.models import User
from django.test import Client
client = Client()
client.force_login(User.objects.create_superuser("bench", password="bench"))
print(client.cookies["rmq_session"].value)
"""


class ConsoleStack:
    """`with ConsoleStack(redis_url) as console:`; processes are started by name and ended with the block."""

    def __init__(self, redis_url: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rmq-bench-")
        self._processes: list[subprocess.Popen[bytes]] = []
        self._migrated = False
        self.web_pid = 0
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.environ = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "RMQ_DATA_DIR": self._folder.name,
            "RMQ_REDIS_URL": redis_url,
            "RMQ_HTTPS": "false",
            "RMQ_SECRET_KEY": "benchmark-only-0123456789-abcdefghijklmnopqrstuvwxyz-ABC",
        }

    def keeper(self) -> int:
        """Start a keeper; returns its process id."""
        self._migrate()
        return self._start([*MANAGE, "keeper"])

    def web(self) -> str:
        """Start the server, sign somebody in; returns their session cookie."""
        self._migrate()
        server = [sys.executable, "-m", "uvicorn", "console.config.asgi:application", "--port", str(self.port)]
        self.web_pid = self._start([*server, "--no-access-log", "--log-level", "warning"])
        cookie = self.shell(SIGN_IN).strip().splitlines()[-1]
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.address}/api/v1/health/live", timeout=2).close()
                return cookie
            if time.monotonic() > deadline:
                raise TimeoutError("the web server did not come up")
            time.sleep(0.1)

    def shell(self, code: str) -> str:
        """What some lines of Python print that run where the console's models are."""
        self._migrate()
        return self._run("shell", "-v0", "-c", code)

    def _migrate(self) -> None:
        """A keeper without its tables would be busy with its complaints."""
        if not self._migrated:
            self._run("migrate", "-v0")
            self._migrated = True

    def _start(self, command: list[str]) -> int:
        process = subprocess.Popen(command, env=self.environ, cwd=ROOT, start_new_session=True)
        self._processes.append(process)
        return process.pid

    def _run(self, *arguments: str) -> str:
        command = [*MANAGE, *arguments]
        return subprocess.run(command, env=self.environ, check=True, capture_output=True, text=True).stdout

    def stop(self) -> None:
        """End what was started so far."""
        while self._processes:
            stop_group(self._processes.pop())

    def __enter__(self) -> ConsoleStack:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()


def cpu_seconds(pid: int) -> float:
    """What a process has used of the CPU so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextlib.contextmanager
def keeper_of(redis_url: str) -> Iterator[int]:
    """A keeper alone; gives its process id."""
    with ConsoleStack(redis_url) as console:
        yield console.keeper()
