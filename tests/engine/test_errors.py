"""Errors travel between processes: one that cannot be made again breaks the pool that a task was raised in."""

from __future__ import annotations

import copy
import pickle

import pytest

from rmq_core import PriorityMessage, errors
from rmq_core.errors import BacklogFull, InvalidFilter, JournalFull, OrderMoved, RMQError

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RMQError)]
WITH_FIELDS = {
    BacklogFull: BacklogFull("full", 250, (3, 1), (PriorityMessage("a", 20),)),
    JournalFull: JournalFull("full", 250, (3, 1)),
    OrderMoved: OrderMoved("another", 3),
    InvalidFilter: InvalidFilter("slot", "is no number"),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy], ids=["pickle", "copy"])
def test_an_error_is_the_same_elsewhere(kind: type[RMQError], again: object) -> None:
    error = WITH_FIELDS.get(kind) or kind("what to do")
    error.add_note("seen by a task")
    found = again(error)  # type: ignore[operator]
    assert type(found) is kind
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))
