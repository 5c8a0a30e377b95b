"""Something else is done in the middle of an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rmq_core.protocol.scripts import Call, Operation, script


def meanwhile(operation: Operation[Any], name: str, act: Callable[[], None]) -> Operation[Any]:
    """Does something else before that script is run."""
    requests = next(operation)
    while True:
        if any(isinstance(each, Call) and each.script is script(name) for each in requests):
            act()
        replies = yield requests
        try:
            requests = operation.send(replies)
        except StopIteration as end:
            return end.value
