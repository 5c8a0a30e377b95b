"""Which tests run in one process together, where there are several, and what is begun first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

TOGETHER = (
    "tests/console/browser/",
    "tests/pipeline/",
    "tests/ownership/",
    "tests/engine/conformance/",
    "tests/console/installed/",
)
"""One installation serves all tests of the pages, another those that need one and no browser, one Spark half of the
pipeline, one ZooKeeper all of ownership, one server of each kind all of conformance; starting these costs more than
many tests."""

SECOND_SPARK = tuple(
    f"tests/pipeline/test_{name}.py" for name in ("erasing", "interrupted", "planted", "retention", "rounds", "told")
)
"""Half of the pipeline's time, in another process: one row of all would be the longest by far."""

APART = ("tests/pipeline/test_standalone.py", "tests/pipeline/test_starting.py")
"""Of these folders, what starts a Spark of its own and would only make the longest row of tests longer."""

FIRST = (
    *TOGETHER,
    SECOND_SPARK[0],
    "tests/test_installed.py",
    "tests/pipeline/test_standalone.py",
    "tests/engine/test_failover.py",
    "tests/foreign/test_app.py",
    "tests/console/api/test_hostile.py",
    "tests/engine/worker/test_poison.py",
    "tests/engine/model/test_cells.py",
    "tests/console/test_up.py",
    "tests/engine/model/test_model.py",
    "tests/embedded/test_redis_sentinel.py",
    "tests/console/test_failover.py",
    "tests/engine/test_failover_waiting.py",
)
"""What takes longest for its few tests, the longest first: the others begin in the order of how many tests they have,
and a long one that began among the last would keep all processes but one waiting for it."""


class Together(LoadFileScheduling):
    """A file goes to one process; the files of a folder in `TOGETHER` to the same."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        if file in SECOND_SPARK:
            return SECOND_SPARK[0]
        return file if file in APART else next((folder for folder in TOGETHER if file.startswith(folder)), file)

    def _assign_work_unit(self, node: WorkerController) -> None:
        first = next((scope for scope in FIRST if scope in self.workqueue), None)
        if first is not None:
            self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)
