"""What ran and on what: goes into every result, without naming the machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("rmq-console", "redis", "hiredis")
# Of whatever else ran on this machine: read at import, before we make load ourselves.
LOAD_AT_START = round(os.getloadavg()[0], 2)


def machine() -> dict[str, Any]:
    return {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load_at_start": LOAD_AT_START,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def versions() -> dict[str, Any]:
    found: dict[str, Any] = {"python": platform.python_version(), "revision": _revision()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def _cpu_name() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _revision() -> str | None:
    """The commit that was measured; a `+` says that the tree had changes of its own, other than results."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        ours = [*git, "status", "--porcelain", "--", ":/", ":(exclude,top)benchmarks/results"]
        changes = subprocess.run(ours, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.stdout.strip() + ("+" if changes.stdout.strip() else "")
