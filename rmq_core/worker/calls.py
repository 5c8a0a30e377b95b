"""How a worker calls its listeners: through its hooks, or, where it has none, directly."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

from rmq_core.hooks.chain import Hooks
from rmq_core.hooks.hook import Handling
from rmq_core.model.delivery import Delivery
from rmq_core.worker.calling import call, call_async
from rmq_core.worker.listeners import Listener

Call: TypeAlias = Callable[[Listener, Sequence[Delivery]], None]


class Calls(NamedTuple):
    """``call`` and ``call_async``: see `calling`. ``failed``: told of what a call's deliveries failed with."""

    call: Call
    call_async: Callable[[Listener, Sequence[Delivery]], Awaitable[None]]
    failed: Callable[[Sequence[Delivery], BaseException], None]


def _nobody(_: Sequence[Delivery], __: BaseException) -> None:
    """No hook is told."""


DIRECT = Calls(call, call_async, _nobody)


def calls_through(hooks: Hooks, worker: str, call: Call = call) -> Calls:
    """The calls of the worker of that name. ``call``: how a plain listener is called in the end."""
    if not hooks.of_calls:
        return DIRECT._replace(call=call)

    def hooked(listener: Listener, some: Sequence[Delivery]) -> None:
        with hooks.handling(Handling(tuple(some), listener.name, worker)):
            call(listener, some)

    async def hooked_async(listener: Listener, some: Sequence[Delivery]) -> None:
        async with hooks.handling_async(Handling(tuple(some), listener.name, worker)):
            await call_async(listener, some)

    return Calls(hooked, hooked_async, hooks.failed)
