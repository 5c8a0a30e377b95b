"""`python -m benchmarks.peers.tune [names…]`: consumes at many settings in alternation, and ranks them.

This is how the settings at the top of the programs were found; run it again when a pin changes, on a quiet machine.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from benchmarks.harness import FULL_REPEATS, PrivateRedis, alternate_many, grid, show
from benchmarks.peers.runner import PreparedPeer, prepared
from benchmarks.processes import sigterm_raises

# Names are those of the programs' `knob(…)` calls. RQ has nothing to choose here.
GRIDS: dict[str, dict[str, Sequence[str | int]]] = {
    "dramatiq": {"threads": [1, 2, 4, 8], "prefetch": [100, 500]},
    "huey": {"threads": [1, 2, 4]},
    "taskiq": {"tasks": [20, 100, 500], "prefetch": [0, 200]},
    "celery": {"pool": ["solo", "threads"], "prefetch": [16, 128, 1000]},
    "saq": {"concurrency": [10, 20, 50, 100]},
    "pydocket": {"concurrency": [10, 20, 50, 80]},  # its pool gives out at 100 connections
    "arq": {"jobs": [10, 50, 200], "read": [100, 500]},
    "bullmq": {"concurrency": [10, 50, 100, 300]},
}


def tune(name: str, messages: int, rounds: int) -> str:
    peer = prepared(name)
    with PrivateRedis() as server:

        def consume_with(tuned: PreparedPeer) -> Callable[[], Mapping[str, float]]:
            def once() -> Mapping[str, float]:
                server.flush()
                tuned.send(server, messages)
                return {"consume": tuned.consume(server, messages)}

            return once

        subjects = {}
        for values in itertools.product(*GRIDS[name].values()):
            chosen = dict(zip(GRIDS[name], values, strict=True))
            knobs = {f"BENCH_SET_{knob}": str(value) for knob, value in chosen.items()}
            runtime = replace(peer.runtime, environment=peer.runtime.environment | knobs)
            label = " ".join(f"{knob}={value}" for knob, value in chosen.items())
            subjects[label] = consume_with(replace(peer, runtime=runtime, facts={}))
        measured = alternate_many(
            subjects, rounds, lambda label, error: print(f"{name} {label}: {error}", file=sys.stderr)
        )
    # The best round counts as much as the median: other load only ever makes a round slower.
    series = sorted(
        ((label, figures["consume"]) for label, figures in measured.items()), key=lambda one: -one[1].median
    )
    rows = [(label, show(one.median), show(one.high)) for label, one in series]
    return grid([(name, "median /s", "best /s"), *rows])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.tune", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(GRIDS)} (all of them)")
    parser.add_argument("--messages", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=FULL_REPEATS)
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.names) - set(GRIDS))
    if unknown:
        parser.error(f"nothing to tune for {', '.join(unknown)}; there are {', '.join(GRIDS)}")
    with sigterm_raises():
        for name in chosen.names or GRIDS:
            print(f"\n{tune(name, chosen.messages, chosen.rounds)}", flush=True)


if __name__ == "__main__":
    main()
