"""One environment per peer, made from the package index on first use and whenever its pins change."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.catalogue import Peer

ROOT = Path(__file__).parent.parent.parent
ENVIRONMENTS = ROOT / "benchmarks" / ".venvs"
PROGRAMS = Path(__file__).parent / "programs"
INSTALL_S = 900.0


class Unavailable(RuntimeError):
    """This machine cannot run that peer; the message says what is missing."""


class InstallFailed(RuntimeError):
    """The package index did not give the peer's packages."""


@dataclass(frozen=True)
class Runtime:
    """How to start a peer's program: `command` + phase + options, in `cwd`, with `environment`."""

    command: tuple[str, ...]
    environment: dict[str, str]
    cwd: Path = PROGRAMS


def prepare(peer: Peer) -> Runtime:
    """Installs the peer unless that was done before. Raises Unavailable or InstallFailed."""
    folder = ENVIRONMENTS / peer.name
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "NODE_"))}
    if peer.runtime == "ours":
        ours = environment | {"PYTHONPATH": str(ROOT)}
        return Runtime((sys.executable, str(PROGRAMS / "run.py"), Path(peer.program).stem), ours)
    if peer.runtime == "node":
        node, npm = shutil.which("node"), shutil.which("npm")
        if not node or not npm:
            raise Unavailable(f"{peer.name} needs node and npm on PATH")
        install = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        _install(peer, folder, version, [[*install, "--prefix", str(folder), *peer.packages]])
        command = (node, str(PROGRAMS / peer.program))
        return Runtime(command, environment | {"NODE_PATH": str(folder / "node_modules")})
    python = folder / "bin" / "python"
    create = [sys.executable, "-m", "venv", str(folder)]
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _install(peer, folder, platform.python_version(), [create, [*install, *peer.packages]])
    return Runtime((str(python), str(PROGRAMS / "run.py"), Path(peer.program).stem), environment)


def _install(peer: Peer, folder: Path, runtime_version: str, commands: list[list[str]]) -> None:
    """The stamp is written last, so that a half-made environment is made again."""
    stamp = folder / "installed.json"
    wanted = {"packages": list(peer.packages), "runtime": runtime_version}
    if stamp.exists() and json.loads(stamp.read_text()) == wanted:
        return
    print(f"{peer.name}: installing {', '.join(peer.packages)}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S)
        if done.returncode:
            raise InstallFailed(f"{' '.join(command)} exited with {done.returncode}:\n{done.stderr[-2000:]}")
    stamp.write_text(json.dumps(wanted))
