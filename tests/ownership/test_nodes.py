"""What is written into nodes can be read back; what others wrote there is not taken for ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmq_core.ownership.assignment import Assignment, Reservation
from rmq_core.ownership.nodes import (
    Member,
    Paths,
    Shape,
    decode_assignment,
    encode_assignment,
    node_name,
    worker_name,
)
from rmq_core.queries.owners import from_ranges, to_ranges

printable = st.characters(exclude_categories=("C", "Z")).filter(str.isprintable) | st.just(" ")
names = st.text(printable, min_size=1, max_size=40)


@given(names)
def test_any_name_makes_a_node(name: str) -> None:
    node = node_name(name)
    assert worker_name(node) == name
    assert node.isascii()
    assert "/" not in node
    assert "." not in node


def test_paths_are_below_the_namespace() -> None:
    paths = Paths("rmq")
    assert paths.owner("price", 3) == "/rmq/topics/price/owners/3"
    assert paths.assignment("price") == "/rmq/topics/price/assignment"
    assert paths.member("a/b") == "/rmq/members/a%2Fb"


@given(names, st.lists(names), st.integers(1, 1_000), names, st.integers(1, 99_999))
def test_members_come_back(name: str, topics: list[str], weight: int, host: str, pid: int) -> None:
    member = Member(name, tuple(topics), weight, host, pid, session=5)
    assert Member.decode(node_name(name), member.encode(), 5) == member


slots = st.lists(st.integers(0, 4_095), unique=True, max_size=50).map(sorted)


@given(
    st.lists(st.none() | names, max_size=64),
    st.dictionaries(names, st.builds(Reservation, st.integers(0, 2**50), slots.map(tuple)), max_size=4),
)
def test_assignments_come_back(owners: list[str | None], reservations: dict[str, Reservation]) -> None:
    assignment = Assignment(tuple(owners), reservations)
    assert decode_assignment(encode_assignment(assignment)) == assignment


def test_an_assignment_of_the_largest_topic_fits_into_a_node() -> None:
    workers = [f"worker-number-{i:03d}" for i in range(100)]
    owners = tuple(workers[slot % 100] for slot in range(4_096))
    reservations = {"gone": Reservation(0, tuple(range(0, 4_096, 2)))}
    assert len(encode_assignment(Assignment(owners, reservations))) < 100_000  # of 1 MiB


@pytest.mark.parametrize(
    "garbage", [b"", b"x", b"[]", b"{}", b"null", b'{"workers":[],"slots":[0],"reservations":{}}', b"\xff"]
)
def test_garbage_is_nothing_of_ours(garbage: bytes) -> None:
    assert decode_assignment(garbage) is None
    assert Member.decode("ann", garbage, 0) is None
    assert Shape.decode(garbage) is None


@given(slots)
def test_slots_are_written_as_ranges(numbers: list[int]) -> None:
    assert from_ranges(to_ranges(numbers)) == tuple(numbers)


def test_ranges_are_short() -> None:
    assert to_ranges([5, 0, 1, 2, 9, 8]) == "0-2,5,8-9"
    assert to_ranges([]) == ""
