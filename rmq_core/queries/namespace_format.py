"""Whether this release knows the format of a namespace: asked along with whatever is read before a change."""

from __future__ import annotations

from typing import Any

from rmq_core.model import formats
from rmq_core.model.text import shown
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation


def ask(keyspace: Keyspace, question: tuple[Any, ...]) -> Operation[Any]:
    """The answer to one command. Raises `UnknownFormat`, whatever it is."""
    number, answer = yield [("GET", keyspace.format), question]
    check(keyspace, number)
    return answer


def check(keyspace: Keyspace, number: Any) -> None:
    """``number``: what stands there; None: nothing. Raises `UnknownFormat`."""
    if number is not None:
        formats.check(f"the namespace {keyspace.namespace!r}", shown(number, 20), str(formats.NAMESPACE))
