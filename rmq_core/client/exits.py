"""What is still buffered when a process ends is sent then, for a bounded time.

Ends that Python does not hear of (a signal nobody handles, ``os._exit``, ``kill -9``) give nobody the chance.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from typing import Protocol
from weakref import WeakSet

EXIT_S = 10.0
"""All that is buffered in the process has so long together."""


class Finishing(Protocol):
    """Something that has work left when the process ends."""

    def finish(self, timeout_s: float) -> None:
        """Does it, or says loudly what was not done in time."""


_members: WeakSet[Finishing] = WeakSet()
_arranged = 0


def follow(member: Finishing) -> None:
    """Calls ``member.finish`` when this process ends. To be called in each process that uses the member."""
    global _arranged
    _members.add(member)
    if _arranged == os.getpid():
        return
    _arranged = os.getpid()
    parts = sys.modules.get("multiprocessing.process")
    if parts is not None and parts.parent_process() is not None:
        # A child that multiprocessing has forked ends without a word to `atexit`.
        from multiprocessing.util import Finalize

        Finalize(None, _finish_all, exitpriority=100)


def _finish_all() -> None:
    ends = time.monotonic() + EXIT_S
    for member in list(_members):
        member.finish(max(0.0, ends - time.monotonic()))


atexit.register(_finish_all)
