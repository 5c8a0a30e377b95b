"""A TCP proxy on loopback that breaks connections on request, as networks do."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

_CHUNK = 65_536


class TcpProxy:
    """Passes bytes between clients and ``host:port``, until it is told to misbehave.

    ::

        with TcpProxy(server.port) as proxy:
            client = redis.Redis.from_url(proxy.url(server.url))
            proxy.drop_next_reply(b"EVALSHA")
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.replies_dropped = 0
        self.connections_seen = 0
        self._target = (host, port)
        self._flowing = threading.Event()
        self._flowing.set()
        self._lock = threading.Lock()
        self._links: set[_Link] = set()
        self._delay_s = 0.0
        self._drop: bytes | None = None
        self._stall_at: bytes | None = None
        self._stall_after = 0
        self.stalled = threading.Event()
        self.stalled_by = 0
        """The client's port from which that request came."""
        self._longest: int | None = None
        self._open = True
        self._listener = self._listen(0)
        self.port: int = self._listener.getsockname()[1]

    def url(self, url: str) -> str:
        """``url`` with this proxy in place of its host and port."""
        parts = urlsplit(url)
        user, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{self.port}"))

    def cut(self) -> int:
        """Break every connection now; new ones are accepted. Returns how many there were."""
        with self._lock:
            links, self._links = self._links, set()
        for link in links:
            link.close()
        return len(links)

    def refuse(self) -> None:
        """Break every connection and refuse new ones, until ``accept()``."""
        self._hang_up()
        self.cut()

    def accept(self) -> None:
        """Take new connections again, on the same port."""
        self._listener = self._listen(self.port)

    def stall(self) -> None:
        """Let nothing pass in either direction, until ``flow()``; connections stay open."""
        self._flowing.clear()

    def stall_at(self, command: bytes | None, nth: int = 1) -> None:
        """``stall()`` when the ``nth`` request comes that contains ``command``; ``stalled`` is set then. None: at
        none."""
        with self._lock:
            self._stall_at, self._stall_after = command, nth

    def flow(self) -> None:
        """Let through what was held back, and all that follows."""
        self.stalled.clear()
        self._flowing.set()

    def delay(self, delay_ms: int) -> None:
        """Hold every chunk back this long in each direction; 0 ends it."""
        self._delay_s = delay_ms / 1000

    def drop_next_reply(self, command: bytes = b"") -> None:
        """Deliver the next request that contains ``command``, then break its connection instead of its reply.

        ``replies_dropped`` counts the times this has happened.
        """
        self._drop = command

    def break_after(self, replied: int | None) -> None:
        """Let no more than so many bytes of replies through on one connection, then break it; None: as many as come."""
        self._longest = replied

    def close(self) -> None:
        self._open = False
        self._flowing.set()
        self._hang_up()
        self.cut()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _listen(self, port: int) -> socket.socket:
        listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._serve, args=(listener,), name="proxy", daemon=True).start()
        return listener

    def _hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept()
        self._listener.close()

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target, timeout=60)
            except OSError:
                client.close()  # as a port that nobody listens on would, a moment later
                continue
            server.settimeout(None)
            link = _Link(client, server)
            with self._lock:
                self._links.add(link)
                self.connections_seen += 1
            for pump in (self._requests, self._replies):
                threading.Thread(target=pump, args=(link,), name="proxy", daemon=True).start()

    def _requests(self, link: _Link) -> None:
        while data := link.receive(link.client):
            self._look(data, link)
            self._hold()
            with self._lock:
                if self._drop is not None and self._drop in data and link in self._links:
                    self._drop = None
                    link.drop_reply = True
            link.send(link.server, data)
        self._forget(link)

    def _replies(self, link: _Link) -> None:
        while data := link.receive(link.server):
            if link.drop_reply:
                break
            self._hold()
            link.replied += len(data)
            if self._longest is not None and link.replied > self._longest:
                link.send(link.client, data[: self._longest - link.replied])
                break
            link.send(link.client, data)
        self._forget(link)

    def _look(self, data: bytes, link: _Link) -> None:
        with self._lock:
            if self._stall_at is not None and self._stall_at in data:
                self._stall_after -= 1
                if not self._stall_after:
                    self._stall_at = None
                    self.stalled_by = link.client.getpeername()[1]
                    self._flowing.clear()
                    self.stalled.set()

    def _hold(self) -> None:
        if self._delay_s:
            time.sleep(self._delay_s)
        self._flowing.wait()

    def _forget(self, link: _Link) -> None:
        with self._lock:
            if link in self._links:  # at once: what follows on it loses no further reply
                self._links.discard(link)
                self.replies_dropped += link.drop_reply  # also where the client waited no longer
        link.close()


class _Link:
    """One client's connection and ours to the server on its behalf."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.drop_reply = False
        self.replied = 0

    def receive(self, source: socket.socket) -> bytes:
        try:
            return source.recv(_CHUNK)
        except OSError:
            return b""

    def send(self, target: socket.socket, data: bytes) -> None:
        with contextlib.suppress(OSError):
            target.sendall(data)

    def close(self) -> None:
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # wakes the other pump
            end.close()
