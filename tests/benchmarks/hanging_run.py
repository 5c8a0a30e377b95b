"""`hanging_run.py <file>`: consumes with a worker that hangs, until it is killed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))

from benchmarks.harness import PrivateRedis
from tests.benchmarks.test_peers import stand_in

peer = stand_in("hanging_peer")
peer.runtime.environment["BENCH_PIDS"] = sys.argv[1]
with PrivateRedis() as server:
    peer.send(server, 10)
    peer.consume(server, 10)
