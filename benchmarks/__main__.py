"""`python -m benchmarks [--quick] [--only NAME] [--no-peers] [--folder PATH]`: every bench_*.py here, then the peers.

A benchmark is a module `bench_<name>.py` with `main(quick: bool) -> None`. Exits with 1 when one of them failed. Those
that need much data also take the ``folder`` in which it stays for the next time (``--folder``; without it, a temporary
one).
"""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback
from collections.abc import Sequence
from inspect import signature
from pathlib import Path

from benchmarks.peers.__main__ import measure
from benchmarks.peers.catalogue import PEERS
from benchmarks.processes import sigterm_raises

HERE = Path(__file__).parent
PEERS_NAME = "peers"


def names() -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def run(name: str, quick: bool, folder: Path | None = None) -> bool:
    """Whether it ran to its end; a failure is printed, and the others still run."""
    print(f"\n== {name}", flush=True)
    try:
        if name == PEERS_NAME:
            return not measure(list(PEERS), quick)
        begin = importlib.import_module(f"benchmarks.bench_{name}").main
        begin(quick, folder) if "folder" in signature(begin).parameters else begin(quick)
    except Exception:
        traceback.print_exc()
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    available = [*names(), PEERS_NAME]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small round each, for trying the programs")
    parser.add_argument("--only", action="append", metavar="NAME", choices=available, help=", ".join(available))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--folder", type=Path, help="where data for measuring is made, and used again when it is there")
    chosen = parser.parse_args(arguments)
    wanted = [name for name in chosen.only or available if not (chosen.no_peers and name == PEERS_NAME)]
    with sigterm_raises():
        failed = [name for name in wanted if not run(name, chosen.quick, chosen.folder)]
    if failed:
        print(f"\nFAILED: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
