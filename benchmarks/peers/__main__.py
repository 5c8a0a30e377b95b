"""`python -m benchmarks.peers [names…] [--quick]`: measures the peers in alternation, writes results/peers.json."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.harness import PrivateRedis, Report, Series, alternate_many, grid, repeats_for, show
from benchmarks.peers.catalogue import PEERS
from benchmarks.peers.comparison import add_to
from benchmarks.peers.environments import InstallFailed, Unavailable
from benchmarks.peers.runner import CHUNK, DELAY_S, RATE, UNITS, PreparedPeer, prepared, sizes_for
from benchmarks.processes import sigterm_raises

COLUMNS = {
    "send": "send 1×1 /s",
    "bulk": f"bulk {CHUNK} /s",
    "consume": "consume /s",
    "delayed p50": "p50 ms",
    "delayed p99": "p99 ms",
    "earliest": "earliest ms",
    "waiting": "B/waiting",
    "delayed": "B/delayed",
}


def measure(names: Sequence[str], quick: bool, results: Path | None = None) -> dict[str, str]:
    """Measures these peers and writes the report. Returns those that failed, with the reason."""
    peers: dict[str, PreparedPeer] = {}
    skipped: dict[str, str] = {}
    failed: dict[str, str] = {}

    def note_failure(name: str, error: Exception) -> None:
        print(f"{name} FAILED: {error}", file=sys.stderr, flush=True)
        # What was printed may name this machine's paths and servers; the results are for everybody.
        installing = isinstance(error, InstallFailed)
        failed[name] = "could not be installed" if installing else f"{type(error).__name__} while measuring"

    for name in names:
        try:
            peers[name] = prepared(name)
        except Unavailable as error:
            skipped[name] = str(error)
        except InstallFailed as error:
            note_failure(name, error)

    with PrivateRedis() as server:
        subjects = {name: _subject(peer, server, quick) for name, peer in peers.items()}
        figures = alternate_many(subjects, repeats_for(quick), note_failure)
        report = Report(
            "peers",
            quick=quick,
            server=server,
            expects=[f"{name}: {figure}" for name in figures for figure in UNITS if figure != "bulk"],
            settings={
                "bulk_size": CHUNK,
                "delayed_per_second": RATE,
                "delay_s": DELAY_S,
                "sizes": {name: vars(sizes_for(peers[name].peer, quick)) for name in figures},
            },
            extra={
                "peers": {name: peers[name].facts for name in figures},
                "skipped": skipped,
                "failed": failed,
            },
        )
        if results:
            report.results = results
        for name, series in figures.items():
            for figure, one in series.items():
                report.add(figure, one, UNITS[figure], subject=name)
        compared = add_to(report, figures)
        path = report.finish(quiet=True) if figures else None
    print("\n" + "\n".join([pivot(figures, peers), "", *compared]))
    for name, reason in skipped.items():
        print(f"{name}: skipped: {reason}")
    for name, reason in failed.items():
        print(f"{name}: FAILED, not measured: {reason}")
    if path:
        print(f"written: {path.name}")
    return failed


def _subject(peer: PreparedPeer, server: PrivateRedis, quick: bool) -> Callable[[], Mapping[str, float]]:
    def once() -> Mapping[str, float]:
        print(f"{peer.peer.name} …", flush=True)
        return peer.round(server, sizes_for(peer.peer, quick))

    return once


def pivot(figures: Mapping[str, Mapping[str, Series]], peers: Mapping[str, PreparedPeer]) -> str:
    """One line per peer: medians, and what it promises."""
    rows = [("peer", *COLUMNS.values(), "guarantee")]
    for name, series in figures.items():
        cells = [show(series[key].median) if key in series else "–" for key in COLUMNS]
        rows.append((name, *cells, str(peers[name].facts["guarantee"])))
    return grid(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(PEERS)} (all of them)")
    parser.add_argument("--quick", action="store_true", help="one small round, written to quick-peers.json")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.names) - set(PEERS))
    if unknown:
        parser.error(f"no peer called {', '.join(unknown)}; there are {', '.join(PEERS)}")
    with sigterm_raises():
        return 1 if measure(chosen.names or list(PEERS), chosen.quick) else 0


if __name__ == "__main__":
    raise SystemExit(main())
