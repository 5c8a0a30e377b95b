"""The peers' side of the protocol, with a program of our own in a peer's place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.harness import NotMeasured, PrivateRedis, Series
from benchmarks.peers import PEERS, PreparedPeer
from benchmarks.peers.catalogue import RMQ, Peer
from benchmarks.peers.comparison import COMPARISONS
from benchmarks.peers.environments import PROGRAMS, Runtime
from benchmarks.peers.runner import Sizes
from benchmarks.processes import ProgramFailed, output_of
from tests.support.waiting import wait_until

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateRedis]:
    with PrivateRedis() as server:
        yield server


def stand_in(module: str = "list_peer") -> PreparedPeer:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE)}
    runtime = Runtime((sys.executable, str(PROGRAMS / "run.py"), module), env)
    return PreparedPeer(Peer(module, (), "run.py"), runtime)


def test_every_peer_is_pinned_and_has_a_program() -> None:
    for peer in PEERS.values():
        assert (PROGRAMS / peer.program).is_file()
        for package in peer.packages:
            name, _, version = package.partition("@" if peer.runtime == "node" else "==")
            assert name and version[0].isdigit(), package


def test_a_round_measures_every_figure(server: PrivateRedis) -> None:
    peer = stand_in()
    figures = peer.round(server, Sizes(messages=1000, delayed=200, lateness=40))
    assert list(figures) == [
        "send",
        "bulk",
        "consume",
        "delayed p50",
        "delayed p99",
        "earliest",
        "waiting",
        "delayed",
    ]
    assert all(figures[name] > 0 for name in figures)
    # A list of 32-byte strings: a little more than their size, and nothing of clients or histograms.
    assert 32 < figures["waiting"] < 64
    assert figures["delayed p50"] <= figures["delayed p99"]
    assert peer.facts["guarantee"] == "at most once"
    with server.client() as client:
        assert client.dbsize() == 0


def test_messages_that_were_not_sent_are_not_measured(server: PrivateRedis) -> None:
    server.flush()
    with pytest.raises(ProgramFailed, match="should be waiting, Redis holds 0"):
        stand_in().consume(server, 10)
    with server.client() as client:
        client.rpush("bench", *[b"0"] * 5)
    with pytest.raises(ProgramFailed, match="20 messages should be waiting, Redis holds 25"):
        stand_in().send(server, 20)
    server.flush()


def test_a_worker_that_ends_is_a_failure_and_no_figure(server: PrivateRedis) -> None:
    server.flush()
    peer = stand_in("broken_peer")
    assert peer.bulk(server, 10) is None
    peer.send(server, 10)
    with pytest.raises(ProgramFailed, match="a worker process ended"):
        peer.consume(server, 10)
    server.flush()


def test_a_phase_that_took_no_time_is_refused(server: PrivateRedis, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = stand_in()
    monkeypatch.setattr(peer, "run", lambda *_, **__: {"count": 10, "seconds": 0})
    with pytest.raises(NotMeasured):
        peer.send(server, 10)


def test_we_are_compared_with_the_fastest_of_each_round() -> None:
    consume = next(one for one in COMPARISONS if "dramatiq" in one.name)
    others = {name: {"consume": Series((1.0, 1.0, 1.0))} for name in consume.peers}
    figures = others | {
        RMQ: {"consume": Series((60.0, 60.0, 60.0))},
        "dramatiq": {"consume": Series((5.0, 3.0, 4.0))},
        "huey": {"consume": Series((2.0, 6.0, 3.0))},
    }
    series = consume.of(figures)
    assert series == Series((12.0, 10.0, 15.0))
    assert consume.bar.met(series.median)
    del figures["arq"]
    assert consume.of(figures) is None


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_program_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 600 & echo $$ $! > {pids}; wait"
    with pytest.raises(ProgramFailed, match="still running after"):
        output_of(["sh", "-c", script], env=os.environ, cwd=tmp_path, timeout_s=0.5)
    for pid in pids.read_text().split():
        assert not alive(int(pid))


def test_a_killed_harness_leaves_nothing_behind(tmp_path: Path) -> None:
    """Even SIGKILL, which runs no `finally`: Redis is tethered, and programs see their stdin end."""
    pids = tmp_path / "pids"
    harness = subprocess.Popen(
        [sys.executable, str(HERE / "hanging_run.py"), str(pids)], cwd=HERE.parent.parent, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 3, timeout_s=30, what="all run")
        started = [int(pid) for pid in pids.read_text().split()]
        assert all(alive(pid) for pid in started)
    finally:
        harness.send_signal(signal.SIGKILL)
        harness.wait()
    wait_until(lambda: not any(alive(pid) for pid in started), timeout_s=60, what="all gone")
