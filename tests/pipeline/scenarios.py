"""Slots in which something is wrong, or only seems to be, and what must be found in them.

A scenario is a topic of its own, and all of them are judged in one go: Spark has a price per job, not per row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rmq_core import TopicKind
from rmq_core.model.holds import HELD_FROM
from rmq_core.protocol.keys import slot_for
from tests.pipeline.frames import DUE, T0, Slot

ASTRAY = next(b"a%d" % i for i in range(99) if slot_for(b"a%d" % i, 4) == 0)
"""Of slot 0, where there are four."""


class Finding(NamedTuple):
    """One of the report, short."""

    kind: str
    slot: int | None
    id: bytes | None


class Scenario(NamedTuple):
    """Slots, what is to be found in them, and what their topic is."""

    slots: list[Slot]
    expected: set[tuple[str, int | None, bytes | None]]
    options: dict[str, Any] = {}


SCENARIOS: dict[str, Scenario] = {}


def scenario(build: Callable[[], Any]) -> None:
    """Registers what a function builds; it is named after it."""
    built = build()
    one = built if isinstance(built, Scenario) else Scenario(*built)
    for slot in one.slots:
        slot.topic = build.__name__
        for row in slot.entries:
            row["topic"] = build.__name__
    SCENARIOS[build.__name__] = one


def lively() -> Slot:
    """A slot where everything has happened, and all is well."""
    slot = Slot()
    slot.say(("began", "--", b"", 0))
    slot.say(*(("sent", "ns", b"m%d" % i, DUE + i) for i in range(9)))
    slot.say(("merged", "ns", b"m0", DUE + 7), ("merged", "n-", b"m1", 0))
    slot.say(*(("taken", "sp", b"m%d" % i, (slot.clock + 10) * 1000) for i in range(1, 8)))
    slot.say(("acked", "p-", b"m1", 0), ("retried", "pr", b"m2", DUE * 1000 + 1), ("died", "pd", b"m3", slot.clock))
    slot.say(("released", "ps", b"m4", DUE), ("expired", "pp", b"m5", 0), ("retried", "ps", b"m5", 16))
    slot.say(("sent", "ns", b"m6", DUE), ("merged", "p-", b"m6", 0), ("extended", "pp", b"m7", slot.clock * 1000))
    slot.say(("cancelled", "st", b"m8", 0), ("requeued", "ds", b"m3", slot.clock), ("promoted", "rs", b"m2", 16))
    slot.say(("restored", "ts", b"m8", DUE), ("rescheduled", "sr", b"m5", DUE * 1000 + 1))
    return slot


@scenario
def a_life_in_order() -> Any:
    return [lively()], set()


@scenario
def lost() -> Any:
    slot = lively()
    del slot.queues["store"][b"m0"]
    return [slot], {("lost", 0, b"m0")}


@scenario
def lost_in_flight_and_lost_as_dead_letter() -> Any:
    slot = lively()
    slot.say(("taken", "sp", b"m3", 1), ("died", "pd", b"m3", 5))
    slot.queues["dead"].clear()
    slot.queues["prepare"].clear()
    return [slot], {("lost", 0, b"m7"), ("lost", 0, b"m3")}


@scenario
def lost_with_the_whole_server_and_not_sent_again() -> Any:
    slot = lively()
    held = {id for queue in slot.queues.values() for id in queue}
    slot.wipe()
    slot.n = 0
    slot.say(("began", "--", b"", 0))
    slot.say(("sent", "ns", b"m0", DUE), ("sent", "ns", b"new", DUE))
    return [slot], {("lost", 0, id) for id in held - {b"m0"}}


@scenario
def ended_while_the_journal_was_off() -> Any:
    slot = lively()
    slot.say(("ended", "--", b"", 0))
    slot.wipe()
    slot.say(("began", "--", b"", 0))
    slot.say(("sent", "ns", b"new", DUE))
    return [slot], set()


@scenario
def unexpected() -> Any:
    slot = lively()
    slot.queues["store"][b"m1"] = DUE
    slot.queues["dead"][b"outsider"] = DUE
    return [slot], {("unexpected", 0, b"m1"), ("unexpected", 0, b"outsider")}


@scenario
def wrong_slot() -> Any:
    home, other = lively(), Slot(number=1)
    other.say(("began", "--", b"", 0))
    other.queues["store"][b"m0"] = home.queues["store"].pop(b"m0")
    return [home, other], {("wrong_slot", 1, b"m0")}


@scenario
def moved_while_the_slot_was_read() -> Any:
    slot = lively()
    slot.say(("acked", "p-", b"m7", 0), quietly=True)
    slot.say(("sent", "ns", b"late", DUE), quietly=True)
    slot.read_after = 2
    return [slot], set()


@scenario
def stuck_in_prepare() -> Any:
    slot = lively()
    slot.queues["prepare"][b"m7"] = (slot.clock - 100_000) * 1000
    return [slot], {("stuck_in_prepare", 0, b"m7")}


def late() -> Slot:
    slot = lively()
    slot.say(("rescheduled", "ss", b"m0", T0 - 1_000_000), ("rescheduled", "rr", b"m5", (T0 - 1_000_000) * 1000 + 1))
    return slot


@scenario
def overdue() -> Any:
    return [late()], {("overdue", 0, b"m0"), ("overdue", 0, b"m5")}


@scenario
def held_for_a_long_time_and_one_of_them_lost() -> Any:
    slot = lively()
    slot.say(("held", "sr", b"m4", HELD_FROM + 1000), ("held", "sr", b"m0", HELD_FROM + 1000))
    slot.say(("merged", "n-", b"m4", 0))
    del slot.queues["retry"][b"m0"]
    return [slot], {("lost", 0, b"m0")}


@scenario
def overdue_but_paused() -> Any:
    return Scenario([late()], set(), {"paused": True})


@scenario
def a_low_priority_is_no_due_time() -> Any:
    return Scenario([late()], {("overdue", 0, b"m5")}, {"kind": TopicKind.PRIORITY})


@scenario
def another_due_time_and_other_failures() -> Any:
    """One of each kind of score; a promoted one whose retries were taken away, and a dead letter made younger."""
    slot = lively()
    slot.say(("taken", "sp", b"m3", slot.clock * 1000), ("died", "pd", b"m3", slot.clock, {"error": "E"}))
    slot.queues["store"][b"m0"] += 30 * 86_400_000
    slot.queues["store"][b"m2"] = 12
    slot.queues["retry"][b"m5"] += 2
    slot.queues["prepare"][b"m7"] += 1_000 * 86_400_000
    slot.queues["dead"][b"m3"] += 1
    return [slot], {("altered", 0, b"m%d" % i) for i in (0, 2, 3, 5, 7)}


@scenario
def another_priority() -> Any:
    slot = Slot()
    slot.say(("began", "--", b"", 0))
    slot.say(*(("sent", "ns", b"m%d" % i, 900 + i) for i in range(3)))
    slot.queues["store"][b"m1"] = 17
    return Scenario([slot], {("altered", 0, b"m1")}, {"kind": TopicKind.PRIORITY})


@scenario
def another_content_and_none() -> Any:
    """A content that is another one, one that is gone, one where there is none, and all is well with the fourth."""
    slot = Slot()
    slot.say(("began", "--", b"", 0))
    slot.say(*(("sent", "ns", b"m%d" % i, DUE, {"body": b"x" if i != 2 else b""}) for i in range(4)))
    slot.say(("sent", "ns", b"m1 later", DUE, {"body": b"y"}))
    slot.body = {b"m1 later", b"m2", b"m3"}
    return [slot], {
        *(("missing_content", 0, b"m%d" % i) for i in (0, 1)),
        *(("altered", 0, name) for name in (b"m1 later", b"m2")),
    }


@scenario
def a_dead_letter_and_one_that_waits_under_the_same_id() -> Any:
    """Every copy is a copy: lost beside its dead twin, and the other way round; back beside it."""
    slot = Slot()
    slot.say(("began", "--", b"", 0))
    for name in (b"waits-no-more", b"dead-no-more", b"both", b"neither"):
        slot.say(("sent", "ns", name, DUE))
        slot.say(("taken", "sp", name, slot.clock * 1000))
        slot.say(("died", "pd", name, slot.clock, {"error": "E"}))
        slot.say(("sent", "ns", name, DUE + 1))
    del slot.queues["store"][b"waits-no-more"], slot.queues["dead"][b"dead-no-more"]
    del slot.queues["store"][b"neither"], slot.queues["dead"][b"neither"]
    return [slot], {("lost", 0, name) for name in (b"waits-no-more", b"dead-no-more", b"neither")}


@scenario
def in_two_queues_at_once() -> Any:
    slot = lively()
    slot.queues["retry"][b"m0"] = DUE * 1000 + 1
    slot.queues["store"][b"m5"] = DUE
    return [slot], {("unexpected", 0, b"m0"), ("unexpected", 0, b"m5")}


@scenario
def a_journal_that_took_stock_begins_anew_with_that() -> Any:
    """An impossible past, and copies that were lost: both settled."""
    slot = lively()
    slot.say(("acked", "p-", b"m1", 5), ("taken", "sp", b"m1", 5), quietly=True)
    del slot.queues["store"][b"m0"]
    slot.say(("erased", "--", b"m0", 0), ("erased", "--", b"m1", 0), ("restored", "ts", b"m0", DUE))
    slot.balance()
    return [slot], set()


@scenario
def orphans() -> Any:
    slot = lively()
    slot.say(("merged", "ns", b"m0", DUE, {"body": b"x"}), ("merged", "n-", b"m4", 0, {"body": b"x"}))
    slot.body = {b"m0", b"m4", b"gone"}
    slot.failed = {b"m2", b"gone", b"forgotten"}
    return [slot], {("orphan_body", 0, b"gone"), ("orphan_failure", 0, b"forgotten")}


@scenario
def delivered_again_after_success() -> Any:
    slot = lively()
    slot.say(("taken", "sp", b"m1", 5), quietly=True)
    return [slot], {("delivered_after_success", 0, b"m1")}


@scenario
def ended_twice() -> Any:
    slot = lively()
    slot.say(("acked", "p-", b"m1", 5), quietly=True)
    return [slot], {("ended_twice", 0, b"m1")}


@scenario
def impossible_transitions() -> Any:
    slot = lively()
    slot.say(("requeued", "ds", b"m0", DUE), ("taken", "sp", b"m7", 5), ("promoted", "rs", b"never", 16), quietly=True)
    return [slot], {("impossible_transition", 0, id) for id in (b"m0", b"m7", b"never")}


@scenario
def counters_do_not_add_up() -> Any:
    slot = lively()
    slot.gap = 3
    return [slot], {("slot_ledger", 0, None)}


def worked_off(**counters: int) -> Slot:
    """Three were taken, one of them is done; and these say so."""
    slot = Slot(counters={"taken": 3, "acked": 1} | counters)
    slot.say(("began", "--", b"", 0))
    slot.say(*(("sent", "ns", b"m%d" % i, DUE) for i in range(3)))
    slot.say(*(("taken", "sp", b"m%d" % i, (slot.clock + 10) * 1000) for i in range(3)), ("acked", "p-", b"m0", 0))
    return slot


@scenario
def counters_are_what_the_journal_tells() -> Any:
    return [worked_off()], set()


@scenario
def counters_that_balance_are_not_what_the_journal_tells() -> Any:
    return [worked_off(acked=6)], {("slot_ledger", 0, None)}


@scenario
def a_counter_of_no_ledger_is_not_what_the_journal_tells() -> Any:
    return [worked_off(died=2)], {("slot_ledger", 0, None)}


@scenario
def counters_of_a_slot_that_moved_are_not_compared() -> Any:
    slot = worked_off(taken=2)
    slot.say(("acked", "p-", b"m1", 0), quietly=True)
    slot.read_after = 1
    return [slot], set()


@scenario
def counters_are_not_held_against_what_could_not_happen() -> Any:
    """It was forged, so nothing has counted it."""
    slot = worked_off()
    slot.say(("taken", "sp", b"m0", 5), quietly=True)
    return [slot], {("delivered_after_success", 0, b"m0")}


@scenario
def counters_beside_what_could_not_happen() -> Any:
    slot = worked_off(died=2)
    slot.say(("taken", "sp", b"m0", 5), quietly=True)
    return [slot], {("delivered_after_success", 0, b"m0"), ("slot_ledger", 0, None)}


@scenario
def marks_and_counters_taken_away() -> Any:
    slot = lively()
    slot.n = 0
    return [slot], {("journal_gap", 0, None)}


@scenario
def astray_from_a_journal_with_holes() -> Any:
    """In slot 1, of which it is not; its own one has lost an entry, perhaps that which sent it."""
    home, other = lively(), Slot(number=1)
    home.entries = [row for row in home.entries if row["n"] != 5]
    other.say(("began", "--", b"", 0))
    other.queues["store"][ASTRAY] = DUE
    return [home, other], {("journal_gap", 0, None), ("unexpected", 1, ASTRAY)}


@scenario
def a_failure_record_is_gone() -> Any:
    """Of one in back-off; not where it was never written, nor where it may be that of the copy in flight."""
    slot = Slot()
    slot.say(("began", "--", b"", 0))
    slot.say(*(("sent", "ns", b"m%d" % i, DUE) for i in range(3)))
    slot.say(*(("taken", "sp", b"m%d" % i, slot.clock * 1000) for i in range(3)))
    slot.say(*(("retried", "pr", b"m%d" % i, DUE * 1000 + 1, {"error": "E"} if i else {}) for i in range(3)))
    slot.failed = {b"m2"}
    return [slot], {("altered", 0, b"m1")}


@scenario
def a_journal_with_holes_proves_nothing() -> Any:
    slots = []
    for number, hole in enumerate(("middle", "front", "tail", "all")):
        slot = lively()
        gone = {"middle": {5}, "front": {1, 2}, "tail": {slot.n}, "all": set(range(1, slot.n + 1))}[hole]
        slot.number = number
        slot.entries = [row | {"slot": number} for row in slot.entries if row["n"] not in gone]
        slot.queues["store"].clear()
        slot.body = {b"m0"} if number == 0 else set()
        slot.balance()
        slots.append(slot)
    whole = Slot(number=4)
    whole.say(("began", "--", b"", 0), ("sent", "ns", b"x", DUE))
    whole.queues["store"].clear()
    gaps = {("journal_gap", number, None) for number in range(4)}
    return [*slots, whole], gaps | {("lost", 4, b"x"), ("orphan_body", 0, b"m0")}


@scenario
def a_journal_with_a_past_or_a_pause_proves_nothing() -> Any:
    late, off = Slot(number=0), Slot(number=1)
    late.say(("began", "--", b"", 7))
    late.say(("acked", "p-", b"before", 0))
    off.say(("began", "--", b"", 0))
    off.say(("sent", "ns", b"x", DUE))
    off.say(("ended", "--", b"", 0))
    off.queues["store"].clear()
    off.balance()
    return [late, off], {("journal_gap", 0, None), ("journal_gap", 1, None)}


@scenario
def a_server_that_lost_its_journal_proves_nothing() -> Any:
    slot = lively()
    slot.wipe()
    slot.n, slot.forgotten = 0, True
    return [slot], {("journal_gap", 0, None)}


@scenario
def without_a_journal_the_queues_alone_are_judged() -> Any:
    slot = Slot()
    slot.queues["store"][b"x"] = DUE
    slot.balance()
    slot.body = {b"gone"}
    return [slot], {("orphan_body", 0, b"gone")}


@scenario
def proved() -> Any:
    """For a look at the evidence."""
    slot, other = lively(), Slot(number=1)
    slot.queues["dead"][b"stray"] = 1
    other.say(("began", "--", b"", 0), ("sent", "ns", b"stray", DUE))
    other.queues["store"].clear()
    del slot.queues["store"][b"m0"]
    return [slot, other], {("wrong_slot", 0, b"stray"), ("lost", 0, b"m0")}


@scenario
def put_back_by_a_repair() -> Any:
    """One that had waited and one that had been in flight, both lost; then they live on."""
    slot = lively()
    del slot.queues["prepare"][b"m7"], slot.queues["store"][b"m0"]
    slot.say(("restored", "-s", b"m0", DUE), ("restored", "-s", b"m7", DUE))
    slot.say(("taken", "sp", b"m7", (slot.clock + 10) * 1000))
    slot.say(("acked", "p-", b"m7", 0))
    slot.balance()
    return [slot], set()
