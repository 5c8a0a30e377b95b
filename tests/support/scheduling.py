"""Which tests run in one process together, where there are several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

TOGETHER = ("tests/console/browser/", "tests/pipeline/")
"""One installation serves all tests of the pages, one Spark all of the pipeline; starting these costs more than many
tests."""


class Together(LoadFileScheduling):
    """A file goes to one process; the files of these folders to the same, and first, for they take longest."""

    def _split_scope(self, nodeid: str) -> str:
        return next((folder for folder in TOGETHER if nodeid.startswith(folder)), super()._split_scope(nodeid))

    def _assign_work_unit(self, node: WorkerController) -> None:
        for folder in TOGETHER:
            if folder in self.workqueue:
                self.workqueue.move_to_end(folder, last=False)
        super()._assign_work_unit(node)
