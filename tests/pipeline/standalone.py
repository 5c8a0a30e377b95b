"""A real Spark cluster for tests: a standalone master and a worker out of PySpark, on a machine without Java.

Its Python is a bare one: it has the packages of ours, and not `rmq_core` itself, as on machines of a cluster.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sysconfig
import venv
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

from rmq_core.embedded.folder import DataFolder
from rmq_core.embedded.java import find_java
from rmq_core.embedded.ports import LOOPBACK, free_port
from rmq_core.embedded.process import ServerProcess
from tests.support.descendants import descendants
from tests.support.spark import BRIEF

START_S = 120
_DEPLOY = "org.apache.spark.deploy"
# What Spark's shell scripts call.
_TOOLS = ("bash", "sh", "env", "dirname", "basename", "cat", "chmod", "hostname", "id", "ls", "ps", "readlink", "uname")


def spark_home() -> Path:
    """Where PySpark keeps Spark."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def without_java(folder: Path) -> dict[str, str]:
    """The environment of a machine that has no Java: neither on the PATH nor in JAVA_HOME."""
    folder.mkdir()
    for tool in _TOOLS:
        if found := shutil.which(tool):
            (folder / tool).symlink_to(found)
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR", "LANG") if name in os.environ}
    return kept | {"PATH": str(folder), "SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": LOOPBACK}


def bare_python(folder: Path) -> Path:
    """A Python with our packages, but without what is installed for editing: this project."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    place = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    (Path(place.stdout.strip()) / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def _is_registered(worker: ServerProcess) -> bool:
    return "Successfully registered with master" in worker.log_tail(1000)


class Standalone:
    """``with Standalone(environment) as cluster:`` jobs go to ``cluster.url``. Each host has room for an executor of
    one core."""

    def __init__(self, environment: dict[str, str], hosts: Sequence[str] = (LOOPBACK,)) -> None:
        java = find_java().environment
        daemon = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": BRIEF}
        env = environment | java | daemon
        self.url = f"spark://{LOOPBACK}:{(port := free_port())}"
        self._folders = [DataFolder(None, "spark-master"), *(DataFolder(None, "spark-worker") for _ in hosts)]
        self.work = self._folders[1].path / "work"
        program = spark_home() / "bin" / "spark-class"
        master = [f"{_DEPLOY}.master.Master", "--host", LOOPBACK, "--webui-port", "0", "--port", str(port)]
        self._master = ServerProcess("the Spark master", [program, *master], self._folders[0], env=env)
        self._workers = []
        for host, folder in zip(hosts, self._folders[1:], strict=True):
            worker = [f"{_DEPLOY}.worker.Worker", "--host", host, "--webui-port", "0", "--cores", "1", "--memory", "1g"]
            worker += ["--work-dir", str(folder.path / "work"), self.url]
            self._workers.append(ServerProcess("the Spark worker", [program, *worker], folder, env=env))

    def __enter__(self) -> Standalone:
        try:
            # The worker keeps asking for its master, so both may start at once.
            self._master.start(lambda: True, START_S)
            for worker in self._workers:
                worker.start(partial(_is_registered, worker), START_S)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        for pid in self.descendants():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)  # a paused process hears nothing
        for process in (*self._workers, self._master):
            process.stop()
        for folder in self._folders:
            folder.discard()

    def descendants(self) -> set[int]:
        """The workers' processes: executors, and their Pythons."""
        return {pid for worker in self._workers if worker.running for pid in descendants(worker.pid)}

    def applications(self) -> list[str]:
        """What has run on the first host's executors, in order."""
        return sorted(path.name for path in self.work.glob("app-*"))
