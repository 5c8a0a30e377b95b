"""A consumer group with owners: each of its slots has one, and its entries are handled in order, one after another."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import pytest

from tests.ownership.fleet import Fleet
from tests.support.waiting import wait_until

pytestmark = pytest.mark.zookeeper

NewFleet = Callable[..., Fleet]
LOAD = {"kind": "stream", "slots": 8, "bases": 64, "work_ms": 5, "visibility_timeout_ms": 2_000}


def test_slots_of_a_group_move_while_entries_keep_their_order(new_fleet: NewFleet) -> None:
    fleet = new_fleet(**LOAD)
    fleet.start("ann")
    fleet.owned_by("ann")
    fleet.send(2_000)
    fleet.start("bob")
    fleet.owned_by("ann", "bob")
    fleet.kill("ann")
    fleet.owned_by("bob")
    fleet.start("cyd")
    fleet.owned_by("bob", "cyd")
    verdict = fleet.verdict()
    assert not verdict.overlaps
    assert not verdict.disorder
    assert not verdict.stale_starts


def test_an_owner_of_a_groups_slot_that_was_frozen_changes_nothing(new_fleet: NewFleet) -> None:
    fleet = new_fleet(**LOAD)
    fleet.start("ann", "bob")
    fleet.owned_by("ann", "bob")
    fleet.send(2_000)
    fleet.freeze_in_a_call("ann")
    fleet.expire("ann")
    fleet.owned_by("bob")
    wait_until(lambda: fleet.epochs() == fleet.epochs_seen(), what="every slot to be at work with its new owner")
    fleet.thaw("ann")
    fleet.owned_by("ann", "bob")
    verdict = fleet.verdict()
    assert not verdict.overlaps
    assert not verdict.disorder
    # Nothing can stop the calls that it was in, but they are known to be late.
    late = [*verdict.stale_starts, *verdict.stale_ends]
    assert {entry.worker for entry in late} == {"ann"}
    assert len({entry.id for entry in late}) <= 4
    assert "results are stale" in fleet.log("ann")


def test_claims_under_owners_bring_entries_back_to_them_alone(new_fleet: NewFleet) -> None:
    """Also by force, and in the moment of a death: a (group, slot) has one owner, who hands them out again."""
    fleet = new_fleet(**LOAD)
    fleet.start("ann", "bob")
    fleet.owned_by("ann", "bob")
    fleet.send(2_000)
    wait_until(lambda: fleet.done() > 100, what="them to be at work")
    claimed = Counter[bool]()
    for force in (False, True) * 10:
        claimed[force] += sum(each.entries for each in fleet.control.claim(fleet.queue, "ann", force=force))
        time.sleep(0.05)
    assert claimed[False] == 0  # it runs, and has taken them since it began
    assert claimed[True] > 0
    fleet.send(2_000)  # on a slow machine the first ones may be done by now

    def caught_with_an_entry() -> bool:
        """A call may be one whose entry the last claim has brought back."""
        fleet.freeze_in_a_call("ann")
        if any(each.held for each in fleet.inspector.members(fleet.queue) if each.name == "ann"):
            return True
        fleet.thaw("ann")
        return False

    wait_until(caught_with_an_entry, what="ann to be caught with an entry of its own")
    fleet.kill("ann")
    assert sum(each.entries for each in fleet.control.claim(fleet.queue, "ann", force=True)) > 0
    fleet.owned_by("bob")
    verdict = fleet.verdict()
    assert not verdict.overlaps
    assert not verdict.disorder
    assert not verdict.stale_starts
