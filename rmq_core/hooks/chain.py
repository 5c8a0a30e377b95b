"""The hooks of one client or worker, in their order, each only where it does something."""

from __future__ import annotations

import importlib
import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import Any

from rmq_core.errors import ConfigurationError
from rmq_core.hooks.hook import Handling, Hook, Sending
from rmq_core.model.delivery import Delivery
from rmq_core.model.entry import AnyMessage
from rmq_core.model.outcomes import Reject, Release

log = logging.getLogger(__name__)


class Hooks:
    """See `hook.Hook`. Raises `ConfigurationError` for what is none."""

    def __init__(self, hooks: Iterable[Hook] = ()) -> None:
        given = tuple(hooks)
        for hook in given:
            if not isinstance(hook, Hook):
                raise ConfigurationError(
                    f"{hook!r:.100} is no hook: make an instance of a subclass of rmq_core.Hook, and pass that"
                )
        self._sending = [hook.sending for hook in given if _does(hook, "sending")]
        self._handling = [hook.handling for hook in given if _does(hook, "handling")]
        self._handling_async = [
            (hook.handling_async, None) if _does(hook, "handling_async") else (None, hook.handling)
            for hook in given
            if _does(hook, "handling") or _does(hook, "handling_async")
        ]
        self._dying = [hook.dying for hook in given if _does(hook, "dying")]
        self.of_sends = bool(self._sending)
        """Whether any of them is around sends."""
        self.of_calls = bool(self._handling or self._handling_async or self._dying)
        """Whether any of them is around calls of listeners, or before deaths."""

    @contextmanager
    def sending(self, topic: str, messages: list[AnyMessage]) -> Iterator[Sending]:
        """Around a send of these. Raises `ConfigurationError` where a hook has lost a message, or an error."""
        sending, given = Sending(topic, messages), len(messages)
        done = False
        with ExitStack() as stack:
            for around in self._sending:
                stack.enter_context(around(sending))
            # They may have been changed in place, so what was given is counted before.
            if not isinstance(sending.messages, Sequence) or len(sending.messages) != given:
                made = len(sending.messages) if isinstance(sending.messages, Sequence) else type(sending.messages)
                raise ConfigurationError(
                    f"a hook made {made} messages of {given}: it may put another one in the place of each, no more and"
                    " no less"
                )
            yield sending
            done = True
        if not done:
            raise ConfigurationError("a hook has swallowed the error of a send, which its sender must hear: raise it")

    @contextmanager
    def sending_one(self, topic: str, message: AnyMessage) -> Iterator[AnyMessage]:
        """The same for one: what is sent of it."""
        with self.sending(topic, [message]) as sending:
            yield sending.messages[0]

    def handling(self, handling: Handling) -> AbstractContextManager[Any]:
        """Around a call of a plain listener."""
        return self._handling[0](handling) if len(self._handling) == 1 else self._nested(handling)

    @contextmanager
    def _nested(self, handling: Handling) -> Iterator[None]:
        with ExitStack() as stack:
            for around in self._handling:
                stack.enter_context(around(handling))
            yield

    @asynccontextmanager
    async def handling_async(self, handling: Handling) -> AsyncIterator[None]:
        """Around a call of a coroutine listener."""
        async with AsyncExitStack() as stack:
            for around_async, around in self._handling_async:
                if around_async is not None:
                    await stack.enter_async_context(around_async(handling))
                elif around is not None:
                    stack.enter_context(around(handling))
            yield

    def failed(self, deliveries: Sequence[Delivery], error: BaseException) -> None:
        """Tells of those that this error makes dead letters; raises nothing."""
        if not self._dying or isinstance(error, Release):
            return
        for delivery in deliveries:
            if not delivery.receipt or not (delivery.last_attempt or isinstance(error, Reject)):
                continue  # without a receipt it was done before the call, and does not die
            for tell in self._dying:
                try:
                    tell(delivery, error)
                except BaseException:  # a SystemExit, too, would leave the death itself undone
                    log.exception("a hook failed at the death of %s of topic %s", delivery.id, delivery.topic)


def _does(hook: Hook, name: str) -> bool:
    return getattr(type(hook), name) is not getattr(Hook, name) or name in getattr(hook, "__dict__", {})


def find_hooks(path: str) -> list[Hook]:
    """The hooks that ``module:attribute`` names: one, a list of them, or a function or class that makes one.

    Raises `ConfigurationError`.
    """
    module_name, _, attribute = path.partition(":")
    if not attribute or not all(module_name.split(".")):
        raise ConfigurationError(f"hooks are named as package.module:attribute, not {path!r}")
    try:
        found: Any = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"cannot load hooks from {path!r}: {error}") from error
    if callable(found) and not isinstance(found, Hook):
        found = found()
    if isinstance(found, Hook):
        return [found]
    if not isinstance(found, Iterable) or isinstance(found, str):
        raise ConfigurationError(f"{path!r} is neither a hook nor a list of hooks, but of type {type(found).__name__}")
    return list(found)
