"""The workers of RQ: one whose jobs end with it, also when it is killed, and one that does them itself."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Any

from django.db import connections
from rq import SimpleWorker, Worker

PR_SET_PDEATHSIG = 1


class OwnProcessWorker(SimpleWorker):
    """Does its jobs itself, one after the other: what one of them has started, the next one finds."""

    def check_for_suspension(self, burst: bool) -> None:
        """As of `TetheredWorker`."""

    def execute_job(self, *args: Any, **options: Any) -> None:
        """And leaves no connection behind, which would be idle for hours."""
        super().execute_job(*args, **options)
        connections.close_all()


class TetheredWorker(Worker):
    """RQ runs each job in a process of a group of its own, which nobody would reach once its worker is gone."""

    def check_for_suspension(self, burst: bool) -> None:
        """RQ's one mark for that stops every worker of a Redis: another application's `rq suspend` is not for us."""

    def main_work_horse(self, *args: Any, **options: Any) -> Any:
        """In the forked process, before the job."""
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != self.pid:  # the worker was killed before the request was in place
            os._exit(1)
        return super().main_work_horse(*args, **options)
