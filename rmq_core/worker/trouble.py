"""What goes wrong with the server, said in the log."""

from __future__ import annotations

import logging
import time

from rmq_core.errors import RMQError, UnknownFormat

log = logging.getLogger(__name__)

AGAIN_S = 60.0


class Trouble:
    """One for a worker: what every slot of it meets alike, again and again, is one line a minute."""

    def __init__(self, worker_name: str) -> None:
        self._worker_name = worker_name
        self._again_at = 0.0

    def say(self, where: str, error: RMQError) -> None:
        """A warning; of a format that is unknown an error, for that does not pass by itself."""
        if not isinstance(error, UnknownFormat):
            log.warning("%s: %s", where, error)
        elif time.monotonic() >= self._again_at:
            self._again_at = time.monotonic() + AGAIN_S
            log.error("worker %s takes nothing where it finds this: %s", self._worker_name, error)
