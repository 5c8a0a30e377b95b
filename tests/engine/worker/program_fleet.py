"""Three processes of a worker program on one bench, and what they leave in Redis gone with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.engine.worker.bench import WorkerBench
from tests.support.programs import Program


@contextmanager
def three_programs(main: Callable[..., Any], url: str, bench: WorkerBench, notes: list[str]) -> Iterator[list[Program]]:
    """``notes``: the keys of the namespace that the program writes."""
    options = {"redis": url, "namespace": bench.namespace}
    started = [Program(main, options | {"name": f"w{number}"}) for number in range(3)]
    yield started
    for program in started:
        program.kill()
        program.wait()
    keyspace = bench.rmq.keyspace
    for key in (*(f"{keyspace.namespace}:{note}" for note in notes), keyspace.overrides):
        bench.raw.delete(key)
