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
    *[("dead_behind_everybodys_back", name, "done") for name in ("ended", "strayed")],
]
READERS = [
    *[("lost_by_the_archive", number, 12, "archive.x", False) for number in range(4)],
    ("archived_late", 0, 12, "archive.x", False),
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


def entries(slot: Slot, *numbers: int) -> Slot:
    """Twelve messages, one in an entry; the archive has these of the numbers, some more than once."""
    slot.say(("began", "--", b"", 0))
    for i in range(2, 13):
        slot.say(("sent", "ns", b"m%d" % i, DUE))
    known = {row["n"]: row for row in slot.entries}
    slot.entries = [known[n] for n in numbers]
    return slot


@scenario
def gaps_follow_from_the_numbers() -> Any:
    """One missing and one doubled; twice two; a doubled one alone. By counts the first two would be whole."""
    return [
        entries(Slot(number=0), *(n for n in range(1, 13) if n != 5), 7),
        entries(Slot(number=1), *(n for n in range(1, 13) if n not in (5, 8)), 6, 7),
        entries(Slot(number=2), *range(1, 13), 7),
        entries(Slot(number=3), *range(1, 13)),
    ], {gap(0), gap(1), gap(2)}


@scenario
def lost_by_the_archive() -> Any:
    """A file of the front, of the middle and of the end, and a whole slot; that they were trimmed is no excuse."""
    return [
        entries(Slot(number=0), *range(4, 13)),
        entries(Slot(number=1), *range(1, 4), *range(8, 13)),
        entries(Slot(number=2), *range(1, 9)),
        entries(Slot(number=3)),
    ], {gap(0), gap(1), gap(2), gap(3)}


@scenario
def archived_late() -> Any:
    """What came before the archive did was trimmed by its readers, and no file of the archive is missing."""
    return [entries(Slot(number=0), *range(4, 13))], {gap(0)}


@scenario
def parts_of_an_entry() -> Any:
    slot = Slot()
    slot.say(("began", "--", b"", 0), ("sent", "ns", b"a", DUE), ("sent", "ns", b"b", DUE))
    slot.say(("sent", "ns", b"c", DUE))
    del slot.entries[2]
    return [slot], {gap(0)}


@scenario
def numbers_given_twice() -> Any:
    """A server that had lost the end of its journal, and went on."""
    slot = entries(Slot(), *range(1, 13))
    slot.n = 10
    slot.say(("sent", "ns", b"after", DUE))
    slot.say(("sent", "ns", b"after that", DUE))
    return [slot], {gap(0)}


REACHED = [
    *[("lost_by_the_archive", number, 12, 1) for number in range(4)],
    ("archived_late", 0, 12, 4),
]
"""Topic, slot, number, since."""


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
    slot.balance()
    slot.say(("ended", "--", b"", 0))
    slot.say(("began", "--", b"", 0))
    slot.say(("sent", "ns", b"new", DUE))
    slot.queues["store"].clear()
    return [slot], {Finding("lost", 0, b"new")}


@scenario
def expected_by_the_business() -> Any:
    slot = Slot()
    slot.say(("began", "--", b"", 0))
    slot.say(*(("sent", "ns", name, DUE) for name in (b"ended", b"waits", b"waits-too", b"again", b"outsider")))
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
        Finding("unknown_to_business", 0, b"outsider"),
    }


@scenario
def dead_behind_everybodys_back() -> Any:
    """One that is done lies dead again; one that waited lies dead in another slot. Neither is to live by being dead."""
    slot, other = Slot(), Slot(number=1)
    slot.say(("began", "--", b"", 0))
    slot.say(("sent", "ns", b"ended", DUE), ("sent", "ns", b"strayed", DUE))
    slot.say(("taken", "sp", b"ended", 1))
    slot.say(("acked", "p-", b"ended", 0))
    slot.queues["dead"][b"ended"] = DUE
    del slot.queues["store"][b"strayed"]
    other.say(("began", "--", b"", 0))
    other.queues["dead"][b"strayed"] = DUE
    return [slot, other], {
        Finding("unexpected", 0, b"ended"),
        Finding("not_done", 0, b"ended"),
        Finding("wrong_slot", 1, b"strayed"),
        Finding("not_done", 1, b"strayed"),
    }


@scenario
def without_a_journal() -> Any:
    slot = Slot()
    return Scenario([slot], {gap()}, {"journal": "off"})
