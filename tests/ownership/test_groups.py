"""A consumer group with owners: each of its slots has one, and its entries are handled in order, one after another."""

from __future__ import annotations

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
