"""What is wrong now, over REST: what the overview lists, for those topics that the caller is for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.console.api.conftest import Caller
from tests.console.api.test_metrics import sample
from tests.console.conftest import Queue


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_problems_are_those_of_the_overview(queue: Queue, caller: Callable[..., Caller], settings: Any) -> None:
    who = caller("Viewer")
    assert who.ok("GET", "/problems") == {"at_ms": None, "problems": []}
    queue.topic()
    queue.dead("d")
    sample(settings)
    found = who.ok("GET", "/problems")
    assert found["at_ms"] and ("orders", "dead") in [(each["topic"], each["code"][:4]) for each in found["problems"]]
    assert caller("Viewer", topics="mail").ok("GET", "/problems")["problems"] == []
