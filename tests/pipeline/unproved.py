"""Scenarios of journals that do not tell everything, beside a business ledger: nothing is claimed falsely."""

from __future__ import annotations

from typing import Any

from tests.pipeline.frames import DUE, Slot
from tests.pipeline.scenarios import Finding, Scenario, scenario

LEDGER: list[tuple[str, str, str | None]] = [
    *[("trimmed_by_rule", name, "done") for name in ("seen", "before", "dead")],
    *[("expected_by_the_business", name, "done") for name in ("ended", "waits", "never", "again", "called-off")],
    *[("expected_by_the_business", name, "known") for name in ("not-yet", "waits-too")],
    ("expected_by_the_business", "waits-too", None),
    ("without_a_journal", "x", "sent"),
]
READERS = [
    *[("trimmed_by_rule", number, 2, "record", False) for number in range(4)],
    ("emptied_by_rule", 0, 1, "record", False),
    ("archived_elsewhere", 0, 3, "archive, record", True),
    *[("trimmed_further_than_anybody_read", number, 1, "record", False) for number in range(2)],
]
"""Rows of `gaps.READERS`."""


def gap(slot: int | None = None) -> Finding:
    return Finding("journal_gap", slot, None)


def trimmed(number: int = 0) -> Slot:
    """Its first two entries are gone; a message came later, another one waits since before."""
    slot = Slot(number=number)
    slot.say(("began", "--", b"", 0))
    slot.say(("sent", "ns", b"before", DUE))
    slot.say(("sent", "ns", b"seen", DUE))
    slot.entries = [row for row in slot.entries if row["n"] > 2]
    return slot


@scenario
def trimmed_by_rule() -> Any:
    died = Slot(number=3)
    died.say(("began", "--", b"", 0), ("sent", "ns", b"dead", DUE))
    died.say(("taken", "sp", b"dead", 1), ("died", "pd", b"dead", 5))
    died.entries = [row for row in died.entries if row["n"] > 1]
    # Of what the ledger expects done, only what lies there dead is surely not.
    return [*(trimmed(number) for number in range(3)), died], {gap(), Finding("not_done", 3, b"dead")}


@scenario
def emptied_by_rule() -> Any:
    slot = Slot()
    slot.say(("began", "--", b"", 0))
    slot.entries.clear()
    return [slot], {gap(0)}


@scenario
def archived_elsewhere() -> Any:
    return [trimmed()], {gap(0)}


@scenario
def trimmed_further_than_anybody_read() -> Any:
    return [trimmed(0), trimmed(1)], {gap(0), gap(1)}


@scenario
def begun_anew_while_the_slot_was_empty() -> Any:
    slot = trimmed()
    slot.queues["store"].clear()
    slot.say(("ended", "--", b"", 0))
    slot.say(("began", "--", b"", 0))
    slot.say(("sent", "ns", b"new", DUE))
    slot.queues["store"].clear()
    return [slot], {Finding("lost", 0, b"new")}


@scenario
def expected_by_the_business() -> Any:
    slot = Slot()
    slot.say(("began", "--", b"", 0))
    slot.say(*(("sent", "ns", name, DUE) for name in (b"ended", b"waits", b"waits-too", b"again", b"stranger")))
    slot.say(("taken", "sp", b"ended", 1), ("taken", "sp", b"again", 1))
    slot.say(("acked", "p-", b"ended", 0), ("acked", "p-", b"again", 0))
    slot.say(("sent", "ns", b"again", DUE))
    slot.say(("taken", "sp", b"again", 1))
    slot.say(("sent", "ns", b"called-off", DUE), ("cancelled", "st", b"called-off", 0))
    slot.say(("died", "pd", b"again", slot.clock, {"error": "KeyError", "message": "no tail number"}))
    return [slot], {
        Finding("not_done", 0, b"waits"),
        Finding("not_done", 0, b"again"),
        Finding("not_done", 0, b"called-off"),
        Finding("missing_in_queue", None, b"never"),
        Finding("unknown_to_business", 0, b"stranger"),
    }


@scenario
def without_a_journal() -> Any:
    slot = Slot()
    return Scenario([slot], {gap()}, {"journal": "off"})
