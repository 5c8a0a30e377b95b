"""The servers that `up` runs when no others are named: data in the data folder, the same port every time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from console.supervise.folder import DataFolder
from rmq_core.embedded.ports import LOOPBACK, PortTaken
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.server import EmbeddedServer
from rmq_core.embedded.zookeeper import EmbeddedZooKeeper

URL_FILE = "redis_url"
REDIS_CONFIG = {"appendfsync": "everysec", "auto-aof-rewrite-min-size": "256mb"}


class ManagedServer(ABC):
    """An embedded server, started again whenever it is gone."""

    name: str

    def __init__(self, folder: DataFolder, say: Callable[[str, str], None]) -> None:
        self.folder = folder
        self._say = say
        port = folder.read(f"{self.name}_port")
        self._server = self._make(int(port) if port else None)

    @abstractmethod
    def _make(self, port: int | None) -> EmbeddedServer:
        """The server, not started."""

    @property
    @abstractmethod
    def address(self) -> str:
        """Where clients find it, with the password where there is one: not for the log."""

    def start(self) -> None:
        """Start it, on its old port if that is free. Raises `EmbeddedServerError`."""
        try:
            self._server.start()
        except PortTaken:
            self._server = self._make(None)
            self._server.start()
        self.folder.write(f"{self.name}_port", str(self._server.port))
        data = self.folder.path / self.name
        self._say(f"listening on {LOOPBACK}:{self._server.port}, process {self._server.pid}, data in {data}", self.name)

    def look(self) -> None:
        """Start it again if it has ended."""
        if not self._server.running:
            self._say("has ended; starting it again with its data", self.name)
            self._server.start()
            self._say(f"listening again, process {self._server.pid}", self.name)

    def stop(self) -> None:
        """Ends it; what it has accepted is on disk."""
        self._server.stop()
        self._say("has stopped", self.name)


class ManagedRedis(ManagedServer):
    """With an append-only file, and a password; commands beside `up` find both in the file `redis_url`."""

    name = "redis"

    def start(self) -> None:
        super().start()
        self.folder.write(URL_FILE, self.address)
        self._say(f"its address with the password is kept in {self.folder.path / URL_FILE}", self.name)

    def _make(self, port: int | None) -> EmbeddedRedis:
        return EmbeddedRedis(self.folder.path / self.name, appendonly=True, port=port, config=REDIS_CONFIG)

    @property
    def address(self) -> str:
        """A Redis URL."""
        assert isinstance(self._server, EmbeddedRedis)
        return self._server.url


class ManagedZooKeeper(ManagedServer):
    """One server; raises `EmbeddedServerError` where PySpark's jars or Java are missing."""

    name = "zookeeper"

    def _make(self, port: int | None) -> EmbeddedZooKeeper:
        return EmbeddedZooKeeper(self.folder.path / self.name, port=port)

    @property
    def address(self) -> str:
        """host:port"""
        assert isinstance(self._server, EmbeddedZooKeeper)
        return self._server.hosts
