"""What is refused at the border of a send, by our own words: too long a chain, a tenant nobody can name, a version."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core import Addressed
from rmq_core.errors import InvalidMessage, InvalidTopic
from rmq_core.model.follow_ups import FOLLOWED_MOST, Plan, plan_of
from rmq_core.model.message import PriorityMessage
from rmq_core.model.tenants import check_tenant, tenant_of, with_limit


def chain(length: int) -> Addressed:
    last = Addressed("work", "end", priority=500)
    for _ in range(length - 1):
        last = Addressed("work", "x", priority=500, if_done=last)
    return last


def as_value(length: int, by: str) -> dict[str, Any]:
    value: dict[str, Any] = {"topic": "work", "content": "end", "priority": 500}
    for _ in range(length - 1):
        value = {"topic": "work", "content": "x", "priority": 500, by: value}
    return value


def test_a_chain_is_bounded_where_it_is_made_and_where_it_is_read() -> None:
    longest = chain(FOLLOWED_MOST)
    assert plan_of(Plan(longest).header()).if_done is not None
    assert Addressed.from_value(as_value(FOLLOWED_MOST, "if_dead")).depth == FOLLOWED_MOST
    for too_long in (lambda: chain(FOLLOWED_MOST + 1), lambda: chain(2_000)):
        with pytest.raises(InvalidMessage, match="more than 100 messages follow one another"):
            too_long()
    for by in ("if_done", "if_dead"):
        with pytest.raises(InvalidMessage, match="more than 100 messages follow one another"):
            Addressed.from_value(as_value(20_000, by))


def test_a_tenant_that_nobody_can_name_is_refused_and_not_read() -> None:
    with pytest.raises(InvalidMessage, match=r"must not hold U\+0000"):
        check_tenant("a\0b")
    assert tenant_of("header:Customer", {"Customer": "acme\0x"}, None) == "acme"
    assert tenant_of("key:/", None, b"acme\0x/17") == "acme"


@pytest.mark.parametrize("limit", ["", "held"])
@pytest.mark.parametrize("tenant", ["", "a,b", "a\nb", " a", "x" * 65, "a\0b", "\ud800", 5])
def test_a_limit_is_of_a_tenant_that_can_be_whether_it_is_set_or_taken_away(tenant: Any, limit: str) -> None:
    with pytest.raises(InvalidTopic, match="tenant"):
        with_limit("acme=held", tenant, limit)


def test_the_highest_version_is_said_as_a_number() -> None:
    PriorityMessage("x", 500, version=2**53 - 1)
    with pytest.raises(InvalidMessage, match=f"from 0 to {2**53 - 1}$"):
        PriorityMessage("x", 500, version=2**53)
