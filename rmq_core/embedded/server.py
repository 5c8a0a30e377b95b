"""What every embedded server, and every group of them, can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rmq_core.embedded.folder import DataFolder
from rmq_core.embedded.ports import on_free_port
from rmq_core.embedded.process import ServerProcess
from rmq_core.embedded.waiting import wait_for
from rmq_core.errors import EmbeddedServerError


class _Startable(ABC):
    """A context manager over ``start()`` and ``close()``."""

    @abstractmethod
    def start(self) -> Self: ...

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class EmbeddedServer(_Startable):
    """One server process with a data folder and a port, both kept over restarts."""

    # Set by the constructors of the kinds of servers.
    _folder: DataFolder
    _process: ServerProcess
    _port: int | None

    @abstractmethod
    def _start_on(self, port: int) -> None:
        """Start the process on ``port`` and wait until it answers."""

    @property
    def dir(self) -> Path:
        """Its data folder."""
        return self._folder.path

    @property
    def port(self) -> int:
        """The port for clients; known once it has been started."""
        if self._port is None:
            raise EmbeddedServerError(f"{self._process.name} has no port before its first start")
        return self._port

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.running

    def start(self) -> Self:
        """Start it and return when it serves; raise ``EmbeddedServerError`` when it does not come to that.

        Does nothing when it is running.
        """
        if self.running:
            return self
        if self._port is None:
            on_free_port(self._start_on, also=self._port_offsets())
        else:
            self._start_on(self._port)
        return self

    def _port_offsets(self) -> Sequence[int]:
        """Further ports it uses, counted from its port."""
        return ()

    def stop(self) -> None:
        """Shut it down in good order; data and port are kept for another ``start()``."""
        self._process.stop()

    def kill(self) -> None:
        """End it as a crash would (SIGKILL); data and port are kept for another ``start()``."""
        self._process.kill()

    def restart(self, *, kill: bool = False) -> None:
        """Stop (or kill) it and start it again on its port with its data."""
        if kill:
            self.kill()
        else:
            self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze it (SIGSTOP): its connections stay open and get no answer."""
        self._process.pause()

    def resume(self) -> None:
        """Continue after ``pause()``."""
        self._process.resume()

    def close(self) -> None:
        """Stop it and remove its temporary data."""
        if self._folder.temporary:
            self.kill()  # nothing is worth saving
        self.stop()
        self._folder.discard()

    def log_tail(self, lines: int = 15) -> str:
        """The last lines of its log since the latest start."""
        return self._process.log_tail(lines)


class EmbeddedGroup(_Startable):
    """Servers that make one service together."""

    _start_timeout_s: float

    @abstractmethod
    def _all(self) -> Sequence[EmbeddedServer]:
        """Its servers, in the order in which they are to end."""

    def stop(self) -> None:
        """Shut all down in good order; data and ports are kept for another ``start()``."""
        for server in self._all():
            server.stop()

    def close(self) -> None:
        """End all servers and remove their data."""
        for server in self._all():
            server.close()

    def _wait(self, condition: Callable[[], bool], failure: str) -> None:
        if not wait_for(condition, self._start_timeout_s):
            logs = "\n".join(f"{server.dir.name}:\n{server.log_tail(5)}" for server in self._all())
            raise EmbeddedServerError(f"{failure} within {self._start_timeout_s:g} s. The ends of their logs:\n{logs}")
