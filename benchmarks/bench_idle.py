"""What `rmq up` costs while nothing happens: memory (PSS) and CPU of all its processes, without ZooKeeper and Spark."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.console_stack import ROOT, cpu_seconds
from benchmarks.harness import NotMeasured, Report, Series, at_most, repeats_for
from benchmarks.processes import stop_group
from rmq_core.embedded.ports import free_port

READY_WITHIN_S = 180
SETTLE_S = 20.0
IMPORT = "import time; began = time.perf_counter(); import {}; print((time.perf_counter() - began) * 1000)"
PARTS = {" up ": "up", "uvicorn": "web", " keeper": "keeper", " jobs": "jobs", "-server": "Redis"}
"""What is in a command line, and whose it is."""


def main(quick: bool) -> None:
    watch_s = 10.0 if quick else 60.0
    rounds = [idle(watch_s) for _ in range(repeats_for(quick))]
    report = Report("idle", quick, expects=["memory", "CPU", "import rmq_core", "from rmq_core import RMQ"])
    report.settings = {"command": "rmq up --shared", "watched for": f"{watch_s:g} s"}
    report.add("memory", Series(tuple(sum(memory.values()) for memory, _ in rounds)), "MB", bar=at_most(300))
    for part in PARTS.values():
        report.add("memory", Series(tuple(memory[part] for memory, _ in rounds)), "MB", subject=part)
    report.add("CPU", Series(tuple(cpu for _, cpu in rounds)), "%", bar=at_most(1))
    for what in ("rmq_core", "rmq_core.client.rmq"):
        took = Series(tuple(import_ms(what) for _ in range(max(5, repeats_for(quick)))))
        if what == "rmq_core":
            report.add("import rmq_core", took, "ms", bar=at_most(150))
        else:
            report.add("from rmq_core import RMQ", took, "ms", note="two thirds of it are redis-py and asyncio")
    report.finish()


def idle(watch_s: float) -> tuple[dict[str, float], float]:
    """MB by part, and percent of one CPU of all."""
    with tempfile.TemporaryDirectory(prefix="rmq-bench-") as folder:
        log = Path(folder) / "log"
        environ = {"PATH": os.environ["PATH"], "RMQ_DATA_DIR": f"{folder}/data", "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "console", "up", "--shared", "--port", str(free_port())]
        with log.open("wb") as out:
            up = subprocess.Popen(
                command, cwd=ROOT, env=environ, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            _wait_until_ready(up, log)
            time.sleep(SETTLE_S)
            processes = tree(up.pid)
            before, began = sum(map(cpu_seconds, processes)), time.perf_counter()
            time.sleep(watch_s)
            cpu = 100 * (sum(map(cpu_seconds, processes)) - before) / (time.perf_counter() - began)
            if tree(up.pid) != processes:
                raise NotMeasured("a process has ended meanwhile")
            memory = dict.fromkeys(PARTS.values(), 0.0)
            for pid in processes:
                memory[_part(pid)] += pss_mb(pid)
        finally:
            stop_group(up)
    return memory, cpu


def _wait_until_ready(up: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while "ready:" not in log.read_text():
        if up.poll() is not None or time.monotonic() > deadline:
            raise NotMeasured(f"it did not come up:\n{log.read_text()[-2000:]}")
        time.sleep(0.2)


def tree(root: int) -> list[int]:
    """A process and all that it has started, and those have."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:  # it has just ended
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += sorted(children.get(pid, []))
    return found


def pss_mb(pid: int) -> float:
    """What a process holds of the memory; pages shared with others count by its share."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _part(pid: int) -> str:
    command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    try:
        return next(part for words, part in PARTS.items() if words in command)
    except StopIteration:
        raise NotMeasured(f"unknown process: {command}") from None


def import_ms(what: str) -> float:
    """Of a fresh process, without Python's own start."""
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    return float(subprocess.check_output([sys.executable, "-c", IMPORT.format(what)], env=environ, cwd=ROOT, text=True))
