"""The assignment is a pure function: these properties hold for any fleet."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from rmq_core.ownership.assignment import Assignment, Reservation, assign, contenders, plan

WORKERS = ("ann", "bob", "cyd", "dan", "eve")
workers = st.sampled_from(WORKERS)


@st.composite
def situations(draw, most_slots=64, pins=True):
    """Slots, weights of the fleet, who has what now (some of them gone), pins, reservations."""
    slots = draw(st.integers(1, most_slots))
    weights = draw(st.dictionaries(workers, st.integers(1, 5), min_size=1))
    current = draw(st.lists(st.none() | workers, min_size=slots, max_size=slots))
    pinned = draw(st.dictionaries(st.integers(0, slots - 1), workers, max_size=slots // 2)) if pins else {}
    reservations = draw(st.dictionaries(st.integers(0, slots - 1), workers, max_size=slots))
    return slots, weights, current, pinned, reservations


def share(slots, weights, worker):
    return Fraction(slots * weights[worker], sum(weights.values()))


def moves(before, after):
    return sum(was != now for was, now in zip(before, after, strict=True))


@given(situations())
def test_every_slot_has_exactly_one_worker_of_the_fleet(situation):
    slots, weights, current, pins, reservations = situation
    owners = assign(slots, weights, current, pins=pins, reservations=reservations)
    assert len(owners) == slots
    assert set(owners) <= set(weights)


@given(situations(pins=False))
def test_shares_follow_the_weights_within_one_slot(situation):
    slots, weights, current, _, reservations = situation
    counts = Counter(assign(slots, weights, current, reservations=reservations))
    for worker in weights:
        assert abs(counts[worker] - share(slots, weights, worker)) < 1
    if len(set(weights.values())) == 1:
        assert max(counts[worker] for worker in weights) - min(counts[worker] for worker in weights) <= 1


@given(situations())
def test_pins_are_honoured_and_the_others_share_the_rest_evenly(situation):
    slots, weights, current, pins, reservations = situation
    owners = assign(slots, weights, current, pins=pins, reservations=reservations)
    held = {slot: worker for slot, worker in pins.items() if worker in weights}
    assert {slot: owners[slot] for slot in held} == held
    pinned, counts = Counter(held.values()), Counter(owners)
    # Nobody is above its weight unless pins alone put it there.
    for worker in weights:
        assert counts[worker] < share(slots, weights, worker) + 1 or counts[worker] == pinned[worker]


@given(situations(most_slots=5, pins=False))
def test_no_other_fair_assignment_moves_fewer_slots(situation):
    slots, weights, current, _, reservations = situation
    owners = assign(slots, weights, current, reservations=reservations)

    def fair(counts):
        return all(abs(counts[worker] - share(slots, weights, worker)) < 1 for worker in weights)

    best = min(moves(current, each) for each in product(weights, repeat=slots) if fair(Counter(each)))
    assert moves(current, owners) == best


@given(situations())
def test_nobody_gives_a_slot_and_gets_another_for_it(situation):
    slots, weights, current, pins, reservations = situation
    owners = assign(slots, weights, current, pins=pins, reservations=reservations)
    free = [slot for slot in range(slots) if pins.get(slot) not in weights]
    givers = {current[slot] for slot in free if current[slot] in weights and owners[slot] != current[slot]}
    takers = {owners[slot] for slot in free if owners[slot] != current[slot]}
    assert not givers & takers


@given(situations())
def test_an_assignment_is_stable_once_made(situation):
    slots, weights, current, pins, reservations = situation
    owners = assign(slots, weights, current, pins=pins, reservations=reservations)
    assert assign(slots, weights, owners, pins=pins, reservations=reservations) == owners


@given(situations(), st.randoms(use_true_random=False))
def test_the_order_in_which_workers_and_pins_are_named_does_not_matter(situation, chance: random.Random):
    slots, weights, current, pins, reservations = situation

    def shuffled(mapping):
        items = list(mapping.items())
        chance.shuffle(items)
        return dict(items)

    again = assign(slots, shuffled(weights), current, pins=shuffled(pins), reservations=shuffled(reservations))
    assert again == assign(slots, weights, current, pins=pins, reservations=reservations)


@given(situations(pins=False), workers)
def test_a_leaving_worker_moves_only_its_own_slots(situation, leaver):
    slots, weights, current, _, _ = situation
    fleet = dict.fromkeys({*weights, leaver, "zoe"}, 1)
    before = assign(slots, fleet, current)
    after = assign(slots, {worker: 1 for worker in fleet if worker != leaver}, before)
    assert all(was == now for was, now in zip(before, after, strict=True) if was != leaver)


@given(st.integers(1, 8).map(lambda power: 2**power), st.integers(2, 5))
def test_a_rolling_restart_brings_everybody_back_to_its_own_slots(slots, count):
    fleet = dict.fromkeys(WORKERS[:count], 1)
    first = state = plan(slots, fleet, None)
    total = 0
    for worker in fleet:
        without = {other: 1 for other in fleet if other != worker}
        gone = plan(slots, without, state, now_ms=1_000, grace_ms=60_000)
        total += moves(state.owners, gone.owners)
        back = plan(slots, fleet, gone, now_ms=9_000, grace_ms=60_000)
        total += moves(gone.owners, back.owners)
        state = back
    assert total <= 2 * slots
    # Where the slots do not divide evenly, the spare ones may stay where they were lent.
    assert moves(first.owners, state.owners) <= (count if slots % count else 0)


def test_a_claim_outlives_a_newcomer_but_not_its_grace():
    trio = {"ann": 1, "bob": 1, "cyd": 1}
    first = plan(12, trio, None)
    without_ann = plan(12, {"bob": 1, "cyd": 1}, first, now_ms=0, grace_ms=100)
    assert without_ann.reservations == {"ann": Reservation(100, tuple(sorted(first.of("ann"))))}
    with_dan = plan(12, {"bob": 1, "cyd": 1, "dan": 1}, without_ann, now_ms=50, grace_ms=100)
    assert with_dan.of("dan") == first.of("ann")  # what was lent anyway moves first
    in_time = plan(12, trio, without_ann, now_ms=99, grace_ms=100)
    assert in_time == Assignment(first.owners)
    too_late = plan(12, {"bob": 1, "cyd": 1}, without_ann, now_ms=100, grace_ms=100)
    assert too_late.reservations == {}


def test_a_drained_worker_gets_nothing_even_if_slots_are_pinned_to_it():
    fleet = {"ann": 1, "bob": 1}
    drained = contenders(fleet, {"ann"})
    assert set(plan(8, drained, None, pins={3: "ann"}).owners) == {"bob"}
    assert plan(8, contenders(fleet, fleet), None).owners == (None,) * 8


def test_a_pin_waits_for_its_worker():
    absent = plan(4, {"bob": 1}, None, pins={2: "ann"})
    assert absent.owners == ("bob",) * 4
    assert plan(4, {"ann": 1, "bob": 1}, absent, pins={2: "ann"}).owners[2] == "ann"


def test_a_topic_made_anew_with_other_slots_starts_afresh():
    before = plan(8, {"ann": 1}, None)
    assert plan(4, {"bob": 1}, before, now_ms=0, grace_ms=1_000) == Assignment(("bob",) * 4)
