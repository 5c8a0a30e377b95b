"""A PostgreSQL of our own, out of the one that is installed: for tests and benchmarks of what keeps records in it."""

from __future__ import annotations

import shutil
import signal
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

_ROLE = "rmq"
_INITDB_TIMEOUT_S = 120
_OURS = "rmq.conf"


class EmbeddedPostgres(EmbeddedServer):
    """One PostgreSQL server; ``with EmbeddedPostgres() as server: connect(server.url)``.

    ``dir``: where it keeps its data; None for a private temporary folder that goes at ``close()``. ``settings``: lines
    of postgresql.conf, such as ``{"fsync": "off"}``. It refuses to run as root, and so runs as another user there.

    Raises ``EmbeddedServerError`` when PostgreSQL is not installed.
    """

    def __init__(
        self,
        dir: Path | str | None = None,
        *,
        port: int | None = None,
        settings: Mapping[str, str | int] | None = None,
        start_timeout_s: float = 60,
    ) -> None:
        self._programs = postgres_programs()
        # SIGQUIT ends it at once.
        self._user = Unprivileged.where_we_are_root("PostgreSQL", "postgres", dies_by="QUIT")
        self._folder = DataFolder(dir, "postgres", owner=self._user.uid)
        self._port = port
        self._start_timeout_s = start_timeout_s
        self._settings: dict[str, str | int] = {
            "listen_addresses": LOOPBACK,
            "unix_socket_directories": "",
            **(settings or {}),
        }
        self._process = ServerProcess(
            "PostgreSQL",
            [*self._user.command, self._programs / "postgres", "-D", self._data],
            self._folder,
            stop_signal=signal.SIGINT,  # SIGTERM would wait for its clients
        )

    @property
    def _data(self) -> Path:
        return self.dir / "data"

    @property
    def url(self) -> str:
        """Where clients connect, as DATABASE_URL takes it; whoever is on this machine may."""
        return f"postgres://{_ROLE}@{LOOPBACK}:{self.port}/postgres"

    @property
    def version(self) -> str:
        """Such as ``15.6``."""
        said = subprocess.run([self._programs / "postgres", "--version"], capture_output=True, text=True, check=True)
        return said.stdout.split()[2]

    def close(self) -> None:
        """Stop it and remove its temporary data. Killed, it would leave its shared memory behind."""
        self.stop()
        super().close()

    def _start_on(self, port: int) -> None:
        self._port = port
        if not self._data.exists():
            self._make_data()
        lines = [f"{name} = '{value}'\n" for name, value in (self._settings | {"port": port}).items()]
        write_private(self._data / _OURS, "".join(lines))
        self._user.give(self._data / _OURS)
        self._process.start(self._ready, self._start_timeout_s)

    def _make_data(self) -> None:
        self._user.give(self.dir)
        made = subprocess.run(
            [*self._user.command, self._programs / "initdb", "-D", self._data, "-U", _ROLE, "-A", "trust", "-E", "UTF8",
             "--locale=C", "--no-sync"],
            cwd=self.dir, capture_output=True, text=True, check=False, timeout=_INITDB_TIMEOUT_S,
        )  # fmt: skip
        if made.returncode:
            raise EmbeddedServerError(f"initdb cannot make a database in {self._data}: {made.stderr.strip()}")
        with (self._data / "postgresql.conf").open("a") as config:
            config.write(f"include '{_OURS}'\n")

    def _ready(self) -> bool:
        # It says so in its own file, which also tells it from another server on the port.
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) > 7 and lines[0] == str(self._process.pid) and lines[7].strip() == "ready"


def postgres_programs() -> Path:
    """The folder of ``initdb`` and ``postgres``; raises ``EmbeddedServerError`` where there is none."""
    found = [Path(path).resolve().parent for path in [shutil.which("initdb")] if path]
    # Debian keeps them off the PATH, a folder for each version.
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    for folder in (*found, *packaged):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise EmbeddedServerError("PostgreSQL is not installed (Debian and Ubuntu: the package postgresql)")
