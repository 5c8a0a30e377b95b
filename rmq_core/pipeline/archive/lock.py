"""One archive job at a time, and no restore while something is erased: leases in Redis, renewed while a job runs."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from types import TracebackType

from rmq_core.errors import PipelineError, RMQError
from rmq_core.journal.trimmer import RESTORE_ROLE
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.protocol.scripts import Call, script
from rmq_core.transport.sync import Connection

TTL_MS = 30_000
RENEW_S = 5.0
ROLE = "archive"
LOOK_S = 0.5


LOST = (
    "the archive's lock went to another job, since this one stood still for too long or did not reach Redis;"
    " it stopped, nothing is lost"
)


class ArchiveBusy(PipelineError):
    """Another job archives the namespace, or was killed a moment ago."""

    what = "another archive job is"


class RestoreBusy(ArchiveBusy):
    """Something is restored, or erased, just now."""

    what = "another restore, or an erasure, is"


class ArchiveLock:
    """``with ArchiveLock(options): …`` raises `ArchiveBusy` while somebody else archives the namespace."""

    role = ROLE
    busy = ArchiveBusy

    def __init__(self, options: SourceOptions, ttl_ms: int = TTL_MS, wait_ms: int = 0) -> None:
        self._wait_ms = wait_ms
        self._connection = Connection(options.open_target(), retry_for_ms=options.retry_for_ms)
        self._keys = options.keyspace.election(self.role)
        self._ttl_ms = ttl_ms
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._done = threading.Event()
        self._renewing = threading.Thread(target=self._renew, name=f"{self.role}-lock", daemon=True)
        self.lost = threading.Event()
        """Set when the lease went to somebody else: stop writing."""

    def _lead(self, ttl_ms: int) -> tuple[int, int]:
        (reply,) = self._connection.run([Call(script("lead"), list(self._keys), [self._holder, ttl_ms])])
        return reply[0], reply[1]

    def is_mine(self) -> bool:
        """Whether the lease did not go to somebody else, asked now: who stood still for long was not told of it yet."""
        if not self.lost.is_set() and self._lead(self._ttl_ms)[0] == 0:
            self.lost.set()
        return not self.lost.is_set()

    def check(self) -> None:
        """Raises `PipelineError` where it did."""
        if not self.is_mine():
            raise PipelineError(LOST)

    def _renew(self) -> None:
        while not self._done.wait(min(RENEW_S, self._ttl_ms / 3000)):
            try:
                term, _ = self._lead(self._ttl_ms)
            except RMQError:
                continue  # the lease outlives a short absence of the server
            if term == 0:
                self.lost.set()
                return

    def __enter__(self) -> ArchiveLock:
        until = time.monotonic() + self._wait_ms / 1000
        while True:
            term, left_ms = self._lead(self._ttl_ms)
            if term or time.monotonic() >= until:
                break
            time.sleep(LOOK_S)
        if term == 0:
            self._connection.close()
            raise self.busy(
                f"{self.busy.what} running for this namespace; wait until it has finished (if it was killed:"
                f" {left_ms / 1000:.0f} seconds)"
            )
        self._renewing.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._renewing.join()
        try:
            term, _ = self._lead(self._ttl_ms)
            if term:
                self._lead(0)
                self._connection.run([("DEL", self._keys[1])])  # terms fence nothing here
        except RMQError:
            pass  # it ends by itself
        finally:
            self._connection.close()


class RestoreLock(ArchiveLock):
    """The same of restores: what is erased meanwhile would come back out of what a restore had read before. One that
    was killed is waited for, so that the next one goes on by itself."""

    role = RESTORE_ROLE
    busy = RestoreBusy

    def __init__(self, options: SourceOptions, ttl_ms: int = TTL_MS, wait_ms: int = 2 * TTL_MS) -> None:
        super().__init__(options, ttl_ms, wait_ms)
