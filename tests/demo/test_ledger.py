"""The business's account of the flights: from the data and the time alone."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from console.demo.ledger import EVERY_MS, NAME, SETTLED_MS, WINDOW_MS, Ledger, Played, rows
from console.demo.program import GATE_LAPS, Clock, Program
from console.demo.replay import SPEED, START_MS, Replay
from console.demo.schedule import DAY_MS
from rmq_core import RMQ
from rmq_core.pipeline.findings.ledger import EXPECTED

LATE = DAY_MS * 2 + SETTLED_MS * SPEED
"""All of the first day is over then; the longest delay and the longest flight together are shorter than a day."""


def written(path: Path) -> dict[tuple[str, str], str]:
    with path.open(newline="") as file:
        return {(row["topic"], row["id"]): row["expected"] for row in csv.DictReader(file)}


def moments(path: Path, expected: str = "done") -> list[int]:
    with path.open(newline="") as file:
        return sorted(int(row["at"]) for row in csv.DictReader(file) if row["expected"] == expected)


def played(position: int, now_ms: int, begun: int = -1) -> Played:
    return Played(Clock(now_ms, position, SPEED), begun, position, now_ms)


def test_each_flight_has_its_gate_and_those_in_trouble_are_rebooked(program: Program) -> None:
    first = Program(program.days[:1])
    counted = Counter(topic for _, topic, _ in rows(first))
    (day,) = first.days
    late = sum(flight.delay_min >= 15 or flight.cancelled or flight.arrival_ms is None for flight in day.flights)
    assert counted == {"gate-close": len(day.flights), "rebooking": late}
    everything = list(rows(program))
    assert len({(topic, ident) for _, topic, ident in everything}) == len(everything), "a message has one row"


def test_what_is_due_is_expected_and_the_rest_is_only_known(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "ledgers" / NAME
    ledger = Ledger(program, path)
    ledger.keep(played(START_MS, 1_000))
    found = written(path)
    assert set(found.values()) <= set(EXPECTED)
    gates = [ident for (topic, ident), expected in found.items() if (topic, expected) == ("gate-close", "done")]
    assert gates and all(ident.startswith("2013-02-08/") for ident in gates)
    ledger.keep(played(LATE, 1_000 + EVERY_MS - 1))
    assert written(path) == found, "not yet again"
    ledger.keep(played(LATE, 1_000 + EVERY_MS))
    later = written(path)
    assert later.keys() == found.keys()
    assert {expected for (_, ident), expected in later.items() if ident.startswith("2013-02-08/")} == {"done"}
    assert "known" in later.values()
    assert [each.name for each in path.parent.iterdir()] == [NAME]


def test_nothing_is_promised_before_it_is_settled(program: Program, tmp_path: Path) -> None:
    Ledger(program, tmp_path / NAME).keep(played(0, 1))
    assert set(written(tmp_path / NAME).values()) == {"known"}


def test_it_speaks_of_the_last_hours_however_long_the_demo_has_run(program: Program, tmp_path: Path) -> None:
    path, now_ms = tmp_path / NAME, 1_900_000_000_000
    names = {(topic, ident) for _, topic, ident in rows(program)}
    planned_ms = GATE_LAPS * DAY_MS // SPEED
    counts = []
    for hours in (3, 48, 48 + len(program.days) * DAY_MS / SPEED / 3_600_000):  # the last one where the second was
        position = int(hours * 3_600_000 * SPEED)
        Ledger(program, path).keep(played(position, now_ms))
        assert written(path).keys() == names, "whatever comes is known"
        done = moments(path)
        assert now_ms - WINDOW_MS - planned_ms <= done[0] < now_ms - WINDOW_MS - planned_ms + 120_000
        assert done[-1] <= now_ms - SETTLED_MS - planned_ms
        assert set(moments(path, "known")) == {now_ms}
        counts.append(len(done))
    assert counts[1] == counts[2] and len(names) / 10 < counts[1] < len(names) / 2


def test_what_was_played_before_an_absence_is_promised_no_more(program: Program, tmp_path: Path) -> None:
    path, now_ms, position = tmp_path / NAME, 1_900_000_000_000, 20 * DAY_MS
    clock = Clock(now_ms - 5 * 60_000, position - 5 * 60_000 * SPEED, SPEED)
    Ledger(program, path).keep(Played(clock, clock.position_ms, position, now_ms))
    assert len(moments(path)) > 0 and moments(path)[0] > clock.anchor_ms - GATE_LAPS * DAY_MS // SPEED


def test_a_folder_that_cannot_be_written_stops_no_replay(
    program: Program, tmp_path: Path, rmq: RMQ, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    ledger = Ledger(program, tmp_path / "file" / NAME)
    assert Replay(rmq, program, rate=0, ledger=ledger).step() > 0
    assert "the ledger of flights cannot be written" in caplog.text
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_the_replay_keeps_it(program: Program, tmp_path: Path, rmq: RMQ) -> None:
    Replay(rmq, program, rate=0, ledger=Ledger(program, tmp_path / NAME)).step()
    assert "done" in written(tmp_path / NAME).values()
