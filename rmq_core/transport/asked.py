"""Script calls that tasks await, on their way through an asyncio connection: several are written as one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from rmq_core.protocol.scripts import Call
from rmq_core.transport.exchange import Job
from rmq_core.transport.retry import Ordered, Packed, pack


class Asked:
    """Calls that somebody awaits."""

    __slots__ = ("again_at", "calls", "future", "job", "packed", "tries")

    def __init__(self, calls: Sequence[Call], future: asyncio.Future[list[Any]]) -> None:
        self.calls = calls
        self.packed = pack(calls)  # here, so that a bad argument fails nobody else
        self.future = future
        self.job: Job | None = None
        self.tries: Iterator[float] | None = None
        self.again_at = 0.0

    def answer(self, replies: list[Any]) -> None:
        """Unless nobody awaits it any more."""
        if not self.future.done():
            self.future.set_result(replies)

    def fail(self, error: BaseException) -> None:
        """The same."""
        if not self.future.done():
            self.future.set_exception(error)


def simple(asked: list[Asked]) -> bool:
    """Whether none was tried before, and none has an order of its own to keep."""
    return all(each.job is None and type(each.calls) is not Ordered for each in asked)


def tell(asked: list[Asked], replies: list[Any], at: int) -> int:
    """Hands out the replies from there on; where those of the next ones begin."""
    for each in asked:
        each.answer(replies[at : at + len(each.calls)])
        at += len(each.calls)
    return at


def packed(asked: list[Asked]) -> Packed:
    """All of them, one behind the other."""
    return Packed(b"".join([each.packed for each in asked]), sum([len(each.calls) for each in asked]))
