"""A MariaDB of our own, out of the one that is installed: for tests and benchmarks of an outbox in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rmq_core.embedded.folder import DataFolder
from rmq_core.embedded.ports import LOOPBACK
from rmq_core.embedded.process import ServerProcess
from rmq_core.embedded.server import EmbeddedServer
from rmq_core.embedded.unprivileged import Unprivileged
from rmq_core.errors import EmbeddedServerError
from rmq_core.private_files import write_private

_DATABASE = "rmq"
_READY = "ready for connections"
_OURS = "rmq.cnf"


class EmbeddedMariaDB(EmbeddedServer):
    """One MariaDB server; ``with EmbeddedMariaDB() as server: connect(server.url)``.

    ``dir``: where it keeps its data; None for a private temporary folder that goes at ``close()``. ``settings``: lines
    of its configuration, such as ``{"innodb-flush-log-at-trx-commit": 0}``. ``time_zone``: that of the machine, for it.
    Where we are root it runs as another user.

    Raises ``EmbeddedServerError`` when MariaDB is not installed.
    """

    def __init__(
        self,
        dir: Path | str | None = None,
        *,
        port: int | None = None,
        settings: Mapping[str, str | int] | None = None,
        time_zone: str | None = None,
        start_timeout_s: float = 60,
    ) -> None:
        self._program = mariadb_program()
        self._user = Unprivileged.where_we_are_root("MariaDB", "mysql", dies_by="KILL")
        self._folder = DataFolder(dir, "mariadb", owner=self._user.uid)
        self._port = port
        self._start_timeout_s = start_timeout_s
        # Relative paths are in its data: that of a socket must be short. It has no table of users, so anybody is one.
        self._settings: dict[str, str | int] = {
            "datadir": str(self._data),
            "tmpdir": str(self._data),
            "bind-address": LOOPBACK,
            "socket": "sock",
            "pid-file": "pid",
            "skip-grant-tables": 1,
            "character-set-server": "utf8mb4",
            **(settings or {}),
        }
        self._command = [*self._user.command, self._program, f"--defaults-file={self._data / _OURS}"]
        env = {**os.environ, "TZ": time_zone} if time_zone else None
        self._process = ServerProcess("MariaDB", self._command, self._folder, env=env)

    @property
    def _data(self) -> Path:
        return self.dir / "data"

    @property
    def url(self) -> str:
        """Where clients connect, as DATABASE_URL takes it; whoever is on this machine may."""
        return f"mysql://rmq@{LOOPBACK}:{self.port}/{_DATABASE}"

    @property
    def version(self) -> str:
        """Such as ``10.11.19``."""
        said = subprocess.run([self._program, "--version"], capture_output=True, text=True, check=True)
        return said.stdout.partition("Ver ")[2].partition("-")[0]

    def _start_on(self, port: int) -> None:
        self._port = port
        fresh = not self._data.exists()
        # A folder is a database.
        (self._data / _DATABASE).mkdir(parents=True, exist_ok=True)
        lines = [f"{name} = {value}\n" for name, value in (self._settings | {"port": port}).items()]
        write_private(self._data / _OURS, "[mariadbd]\n" + "".join(lines))
        for path in (self.dir, self._data, self._data / _DATABASE, self._data / _OURS):
            self._user.give(path)
        if fresh:
            self._make_data()
        self._process.start(self._ready, self._start_timeout_s)

    def _make_data(self) -> None:
        """Its first files are whole only when it has ended once: killed before, it would not start again."""
        made = subprocess.run(
            [*self._command, "--bootstrap"], cwd=self.dir, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=self._start_timeout_s,
        )  # fmt: skip
        if made.returncode:
            raise EmbeddedServerError(f"mariadbd cannot make its files in {self._data}: {made.stderr.strip()[-1000:]}")

    def _ready(self) -> bool:
        # It says so in its own log, which also tells it from another server on the port.
        return _READY in self._process.log_tail()


def mariadb_program() -> str:
    """The path of ``mariadbd``; raises ``EmbeddedServerError`` where there is none."""
    # Debian keeps it where only root looks.
    found = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        raise EmbeddedServerError("MariaDB is not installed (Debian and Ubuntu: the package mariadb-server-core)")
    return found
