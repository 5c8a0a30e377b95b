"""The business's account of the flights: from the data and the time alone."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from console.demo.ledger import EVERY_MS, NAME, SETTLED_MS, Ledger, rows
from console.demo.program import Program
from console.demo.replay import SPEED, START_MS, Replay
from console.demo.schedule import DAY_MS
from rmq_core import RMQ
from rmq_core.pipeline.findings.ledger import EXPECTED

LATE = DAY_MS * 2 + SETTLED_MS * SPEED
"""All of the first day is over then; the longest delay and the longest flight together are shorter than a day."""


def written(path: Path) -> dict[tuple[str, str], str]:
    with path.open(newline="") as file:
        return {(row["topic"], row["id"]): row["expected"] for row in csv.DictReader(file)}


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
    ledger.keep(START_MS, SPEED, 1_000)
    found = written(path)
    assert set(found.values()) <= set(EXPECTED)
    gates = [ident for (topic, ident), expected in found.items() if (topic, expected) == ("gate-close", "done")]
    assert gates and all(ident.startswith("2013-02-08/") for ident in gates)
    ledger.keep(LATE, SPEED, 1_000 + EVERY_MS - 1)
    assert written(path) == found, "not yet again"
    ledger.keep(LATE, SPEED, 1_000 + EVERY_MS)
    later = written(path)
    assert later.keys() == found.keys()
    assert {expected for (_, ident), expected in later.items() if ident.startswith("2013-02-08/")} == {"done"}
    assert "known" in later.values()
    assert [each.name for each in path.parent.iterdir()] == [NAME]


def test_nothing_is_promised_before_it_is_settled(program: Program, tmp_path: Path) -> None:
    Ledger(program, tmp_path / NAME).keep(0, SPEED, 1)
    assert set(written(tmp_path / NAME).values()) == {"known"}


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
