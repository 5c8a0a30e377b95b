"""A process that ends at each statement in turn: what was committed arrives, in order; what was not does not."""

from __future__ import annotations

import os

import pytest
from django.db import connections, transaction

from console import outbox
from console.outbox import clients
from console.outbox.relay import Relay
from tests.outbox.conftest import LEASE_MS, Shop
from tests.support.deadly import Deadly

EXPECTED = ["a1", "b1", "a2", "b2"]
ENOUGH = 200


def watch(alias: str, last: int) -> None:
    """This process ends before or after a statement, a commit, or an exchange with the queue."""
    deadly, connection = Deadly(last), connections[alias]
    connection.execute_wrappers.append(
        lambda execute, sql, params, many, context: deadly.around(execute)(sql, params, many, context)
    )
    connection._commit = deadly.around(connection._commit)
    for client in (clients.quick(), clients.patient()):
        client.connection.run = deadly.around(client.connection.run)  # type: ignore[method-assign]
        client.connection.stream = deadly.around(client.connection.stream)  # type: ignore[method-assign]


def work(alias: str, last: int) -> None:
    """The business, and then a relay; in a child."""
    watch(alias, last)
    with transaction.atomic(using=alias):
        with connections[alias].cursor() as cursor:
            cursor.execute("INSERT INTO orders VALUES (1)")
        for content in EXPECTED:
            outbox.send("mail", content, priority=900, using=alias, slot_basis=content[0])
    Relay(alias, clients.patient()).step()


@pytest.mark.parametrize("fast_path", [True, False])
def test_a_process_that_is_killed_at_any_point_loses_nothing(shop: Shop, fast_path: bool) -> None:
    shop.topic(slots=1)
    shop.configure(FAST_PATH=fast_path)
    committed = twice = 0
    for last in range(ENOUGH):
        connections[shop.alias].close()
        child = os.fork()
        if child == 0:
            try:
                work(shop.alias, last)
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        found = shop.taken()
        shop.let_pass(LEASE_MS)
        shop.step()
        found += shop.taken()
        # The business and its messages: both, or neither.
        assert (shop.orders() == 1) == bool(found), f"killed at step {last}"
        if found:
            committed += 1
            assert {*found} == {*EXPECTED}, f"killed at step {last}"
            for lane in "ab":
                first = list(dict.fromkeys(each for each in found if each[0] == lane))
                assert first == [each for each in EXPECTED if each[0] == lane], f"killed at step {last}"
            twice += len(found) > len(EXPECTED)
        assert not shop.rows.filter(state="waiting").exists()
        shop.rows.all().delete()
        with connections[shop.alias].cursor() as cursor:
            cursor.execute("DELETE FROM orders")
        if status == 0:
            break
    else:
        pytest.fail("it never came to its end")
    assert last > 20, "it was killed at many points"
    assert committed > 10
    assert twice <= 6, "only between the sending and the note of it"
