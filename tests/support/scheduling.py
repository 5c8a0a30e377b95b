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
"""One installation serves the tests of the pages, another those that need one and no browser, one Spark the pipeline,
one ZooKeeper ownership, one server of each kind conformance; starting these costs more than many tests."""

CUT = {
    "tests/pipeline/": ("test_erasing_whose.py",),
    "tests/console/browser/": ("test_fair_topic.py",),
    "tests/engine/conformance/": ("test_routes.py",),
}
"""Of these, what comes from such a file on is in another process, with servers of its own: all of one folder would take
longer than all tests do, divided by four."""

APART = tuple(f"tests/pipeline/test_{name}.py" for name in ("class_cache", "executors_lost", "standalone", "starting"))
"""Of these folders, what starts a Spark of its own and would only make the longest row of tests longer."""

FIRST = (
    *(folder + file for folder, files in CUT.items() for file in ("", *files)),
    "tests/pipeline/test_executors_lost.py",
    "tests/ownership/",
    "tests/console/installed/",
    "tests/test_installed.py",
    "tests/pipeline/test_standalone.py",
    "tests/engine/test_failover.py",
    "tests/foreign/test_app.py",
    "tests/console/api/test_hostile.py",
    "tests/engine/worker/test_poison.py",
    "tests/engine/model/test_cells.py",
    "tests/console/test_up.py",
    "tests/engine/model/test_model.py",
    "tests/engine/model/test_group_cells.py",
    "tests/embedded/test_redis_sentinel.py",
    "tests/console/test_failover.py",
    "tests/engine/test_failover_waiting.py",
    "tests/console/record/test_postgres.py",
)
"""What takes longest for its few tests, the longest first: the others begin in the order of how many tests they have,
and a long one that began among the last would keep all processes but one waiting for it."""


class Together(LoadFileScheduling):
    """A file goes to one process; the files of a folder in `TOGETHER`, or of a part in `CUT`, to the same."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        folder = next((folder for folder in TOGETHER if file.startswith(folder)), None)
        if folder is None or file in APART:
            return file
        return max((folder + cut for cut in CUT.get(folder, ()) if folder + cut <= file), default=folder)

    def _assign_work_unit(self, node: WorkerController) -> None:
        first = next((scope for scope in FIRST if scope in self.workqueue), None)
        if first is not None:
            self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)
