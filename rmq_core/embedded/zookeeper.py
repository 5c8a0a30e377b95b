"""A real ZooKeeper of our own, out of the jars that PySpark brings: one server, or an ensemble."""

from __future__ import annotations

import importlib.util
import os
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from rmq_core.embedded.folder import DataFolder
from rmq_core.embedded.java import find_java
from rmq_core.embedded.ports import LOOPBACK, free_port
from rmq_core.embedded.process import ServerProcess
from rmq_core.embedded.server import EmbeddedGroup, EmbeddedServer
from rmq_core.errors import EmbeddedServerError
from rmq_core.private_files import private_folder, write_private

_ALONE = "org.apache.zookeeper.server.ZooKeeperServerMain"
_IN_ENSEMBLE = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_JAVA_OPTIONS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # starts sooner; it never gets busy enough to miss the other tier
    "-XX:+ExitOnOutOfMemoryError",
    "-Dorg.apache.logging.log4j.level=WARN",
    "-Dzookeeper.jmx.log4j.disable=true",
)

ConfigLines = Mapping[str, str | int]


class EmbeddedZooKeeper(EmbeddedServer):
    """One ZooKeeper server; ``with EmbeddedZooKeeper() as server: KazooClient(server.hosts)``.

    ``dir``: where it keeps its data; None for a private temporary folder that goes at ``close()``. A folder in use
    by another server is refused. ``port``: None for a free one, kept over restarts. ``tick_ms``: sessions may be as
    short as two ticks. ``config``: further lines of zoo.cfg. ``number`` and ``members``: its place in an ensemble,
    and the lines that describe the whole of it (``EmbeddedEnsemble`` gives them).

    Raises ``EmbeddedServerError`` when PySpark or Java is missing.
    """

    def __init__(
        self,
        dir: Path | str | None = None,
        *,
        port: int | None = None,
        tick_ms: int = 500,
        config: ConfigLines | None = None,
        number: int = 1,
        members: ConfigLines | None = None,
        start_timeout_s: float = 60,
    ) -> None:
        java, jars = find_java(), zookeeper_jars()
        self._folder = DataFolder(dir, "zookeeper")
        self._port = port
        self._number = number
        self._start_timeout_s = start_timeout_s
        self._config: dict[str, str | int] = {
            "tickTime": tick_ms,
            "initLimit": 20,
            "syncLimit": 10,
            "dataDir": str(self._data),
            "clientPortAddress": LOOPBACK,
            "maxClientCnxns": 0,
            "minSessionTimeout": 2 * tick_ms,
            "maxSessionTimeout": 60_000,
            "admin.enableServer": "false",  # it would want port 8080
            "4lw.commands.whitelist": "conf,cons,mntr,ruok,srvr,wchs",
            "preAllocSize": 4_096,  # KiB that a new transaction log takes at once
            "autopurge.purgeInterval": 1,
            "autopurge.snapRetainCount": 3,
            **(members or {}),
            **(config or {}),
        }
        main = _IN_ENSEMBLE if members else _ALONE
        self._process = ServerProcess(
            "ZooKeeper",
            [java.program, *_JAVA_OPTIONS, "-cp", jars / "*", main, self.dir / "zoo.cfg"],
            self._folder,
            # In any other locale Java could not open a folder with a name in other letters.
            env=os.environ | java.environment | {"LC_ALL": "C.UTF-8"},
        )

    @property
    def _data(self) -> Path:
        return self.dir / "data"

    @property
    def hosts(self) -> str:
        """Where clients connect: ``host:port``."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def mode(self) -> str | None:
        """``standalone``, ``leader`` or ``follower``; None while it does not serve."""
        for line in _four_letters(self.port, b"srvr").splitlines():
            if line.startswith("Mode: "):
                return line.removeprefix("Mode: ")
        return None

    def _start_on(self, port: int) -> None:
        self._port = port
        private_folder(self._data)
        write_private(self._data / "myid", str(self._number))
        write_private(self.dir / "zoo.cfg", _properties(self._config | {"clientPort": port}))
        self._process.start(self._ready, self._start_timeout_s)

    def _ready(self) -> bool:
        # Not just any server: another one may have got hold of the port.
        return f"dataDir={self._data}{os.sep}" in _four_letters(self.port, b"conf") and self.mode is not None


class EmbeddedEnsemble(EmbeddedGroup):
    """``size`` ZooKeeper servers that survive the loss of fewer than half of them; data in temporary folders."""

    def __init__(self, *, size: int = 3, tick_ms: int = 500, config: ConfigLines | None = None) -> None:
        members = {f"server.{number}": f"{LOOPBACK}:{free_port()}:{free_port()}" for number in range(1, size + 1)}
        self.servers = [
            EmbeddedZooKeeper(tick_ms=tick_ms, config=config, number=number, members=members)
            for number in range(1, size + 1)
        ]

    @property
    def hosts(self) -> str:
        """Where clients connect: ``host:port,host:port,…``."""
        return ",".join(server.hosts for server in self.servers)

    def start(self) -> Self:
        """Start what does not run; return when all serve."""
        # Together, for none of them serves before most of them run.
        with ThreadPoolExecutor(len(self.servers)) as pool:
            list(pool.map(EmbeddedZooKeeper.start, self.servers))
        return self

    def leader(self) -> EmbeddedZooKeeper:
        """The server that leads now; raises ``EmbeddedServerError`` when none does."""
        for server in self.servers:
            if server.running and server.mode == "leader":
                return server
        raise EmbeddedServerError("no server of the ensemble leads now")

    def _all(self) -> Sequence[EmbeddedZooKeeper]:
        return self.servers


def zookeeper_jars() -> Path:
    """The folder of PySpark's jars; raises ``EmbeddedServerError`` when it is not there or has no ZooKeeper."""
    package = importlib.util.find_spec("pyspark")
    for folder in (package.submodule_search_locations or ()) if package else ():
        jars = Path(folder) / "jars"
        if any(jars.glob("zookeeper-[0-9]*.jar")):
            return jars
    raise EmbeddedServerError(
        "the embedded ZooKeeper comes with PySpark, which is not installed: `pip install 'rmq-console[pipeline]'`,"
        " or use a ZooKeeper of your own"
    )


def _four_letters(port: int, command: bytes) -> str:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=2) as connection:
            connection.sendall(command)
            return b"".join(iter(lambda: connection.recv(65_536), b"")).decode(errors="replace")
    except OSError:
        return ""


def _properties(lines: ConfigLines) -> str:
    return "".join(f"{name}={_escaped(str(value))}\n" for name, value in lines.items())


def _escaped(value: str) -> str:
    utf16 = value.replace("\\", "\\\\").encode("utf-16-be")
    units = (int.from_bytes(utf16[at : at + 2]) for at in range(0, len(utf16), 2))
    return "".join(chr(unit) if 0x20 <= unit < 0x7F else f"\\u{unit:04x}" for unit in units)
