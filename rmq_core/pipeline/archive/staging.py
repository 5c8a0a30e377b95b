"""Where what is written for an archive lies until it is whole; and how a job learns that another one had the archive.

A job that stood still for longer than its lease may find that another one has begun since, and perhaps ended and given
the lease back. Whoever has the lease begins by removing what others have here: whose folder is gone was not alone.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rmq_core.errors import PipelineError
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.lock import LOST
from rmq_core.pipeline.durable import create, move
from rmq_core.pipeline.files import files, folders, remove, seen_here, tree

STAGING = ".spark-staging-"
"""As Spark calls its own; one that is there before a job begins is of one that was killed, or stands still."""
MARK = "_begun"
"""In it, as long as nobody has swept it away."""
REPLACED = "_replaced"
"""In it, what one that was killed had put into place already."""


@dataclass(frozen=True)
class Staged:
    """A job's own ``folder``. ``others``: raises where another job has the archive now."""

    kept: Archive
    folder: str
    others: Callable[[], None]

    def check(self) -> None:
        """Raises `PipelineError` where another job has the archive, or had it since."""
        self.others()
        self.check_mark()

    def check_mark(self) -> None:
        """Raises `PipelineError` where another job has begun since."""
        if MARK not in files(self.kept.session, self.folder):
            raise PipelineError(LOST)

    def places(self) -> list[str]:
        """The folders of events in it, as they are to be among the archive's."""
        found = {path.rpartition("/")[0] for path, _, _ in tree(self.kept.session, self.folder)}
        return sorted(each for each in found if each.startswith("topic="))

    def put(self) -> None:
        """Moves folders that do not count yet to their places. Raises `PipelineError` as `check`."""
        for place in self.places():
            made, there = f"{self.folder}/{place}", f"{self.kept.events}/{place}"
            self.check()  # of another job what is there may count by now
            if not move(self.kept.session, made, there):
                remove(self.kept.session, there)  # of one that was killed
                if not move(self.kept.session, made, there):
                    raise PipelineError(LOST)


@contextmanager
def staging(kept: Archive, check: Callable[[], None]) -> Iterator[Staged]:
    """A folder of this job's own, for as long as it has the lease; ``check``: raises where another job has it."""
    staged = Staged(kept, f"{kept.events}/{STAGING}{uuid.uuid4().hex}", check)
    create(kept.session, f"{staged.folder}/{MARK}", "")
    try:
        yield staged
    except Exception:
        staged.check_mark()  # whatever went wrong follows from that
        raise
    finally:
        remove(kept.session, staged.folder)


def sweep(kept: Archive) -> None:
    """For a job with the lease: removes what others have left; nothing over Spark Connect: it cannot delete folders."""
    if seen_here(kept.session):
        for name in folders(kept.session, kept.events):
            if name.startswith(STAGING):
                _bring_back(kept, f"{kept.events}/{name}/{REPLACED}")
                remove(kept.session, f"{kept.events}/{name}")


def _bring_back(kept: Archive, replaced: str) -> None:
    """What a job has put aside, and was killed before it saw that this is another one's, and whole."""
    last = kept.last_committed()
    for place in sorted({path.rpartition("/")[0] for path, _, _ in tree(kept.session, replaced)}):
        number = place.rpartition("/batch=")[2]
        if number.isdigit() and last is not None and int(number) <= last:
            move(kept.session, f"{replaced}/{place}", f"{kept.events}/{place}")
