"""Sending by way of the outbox: a row in the transaction of whoever sends."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, Unpack

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.transaction import TransactionManagementError

from console.outbox import after_commit, clock
from console.outbox.claiming import Claim
from console.outbox.models import OutboxMessage
from console.outbox.options import options as outbox_options
from console.outbox.rows import Row, counts_from_then, row_of
from rmq_core.client.arguments import topic_name
from rmq_core.errors import ConfigurationError
from rmq_core.hooks.chain import Hooks, find_hooks
from rmq_core.model.composing import Content, SendOptions, compose
from rmq_core.model.entry import AnyMessage, is_message
from rmq_core.model.topic import Topic

P = ParamSpec("P")
T = TypeVar("T")


def send(
    topic: str | Topic,
    message: AnyMessage | Content,
    *,
    using: str = DEFAULT_DB_ALIAS,
    allow_past: bool = False,
    **options: Unpack[SendOptions],
) -> int:
    """Write a message into the transaction that is open; it is sent after the commit, and never if that does not come.

        with transaction.atomic():
            order.save()
            outbox.send("mail", {"to": order.email}, priority=900)

    Takes what `RMQ.send` takes. ``using``: the database of the transaction, and of the row, whose number is returned.
    A delay (``in_ms``) counts from now. What only the queue knows (whether there is such a topic, of that kind) shows
    when the row is sent: see its state. Raises `InvalidMessage`, `DueInThePast`, `TransactionManagementError` outside a
    transaction, `ConfigurationError` for a database without an outbox.
    """
    _check_relayed(using)
    if not connections[using].in_atomic_block:
        raise TransactionManagementError(
            f"outbox.send belongs in a transaction of database {using!r}: transaction.atomic(using={using!r}), or name"
            " the database of the transaction that is open, with using="
        )
    row = _write(topic, message, options, using, allow_past)
    after_commit.note(using, row.pk)
    return row.pk


def write(topic: str, content: Content, options: SendOptions, using: str, claim: Claim | None = None) -> Row:
    """For a loop that sends its rows itself, right after its transaction. Without a ``claim`` they are the relays'."""
    _check_relayed(using)
    leased = {} if claim is None else claim.columns
    row = _write(topic, content, options, using, allow_past=False, **leased)
    return Row(*(getattr(row, name) for name in Row._fields))


def _check_relayed(using: str) -> None:
    if using not in outbox_options().databases:
        raise ConfigurationError(
            f"the outbox of database {using!r} is relayed by nobody: add it to DATABASES of RMQ_OUTBOX, and migrate it"
        )


def _write(
    topic: str | Topic,
    message: AnyMessage | Content,
    options: SendOptions,
    using: str,
    allow_past: bool,
    **columns: Any,
) -> OutboxMessage:
    ready = compose(message, options) if options or not is_message(message) else message
    with _hooks(tuple(outbox_options().hooks)).sending_one(topic_name(topic), ready) as sent:
        columns |= row_of(topic, sent, allow_past=allow_past)
        if counts_from_then(columns):  # by the clock that the relays go by; asking for it is a query
            columns["written_ms"] = clock.now_ms(using)
        return OutboxMessage.objects.using(using).create(**columns)


@functools.cache
def _hooks(paths: tuple[str, ...]) -> Hooks:
    return Hooks(hook for path in paths for hook in find_hooks(path))


def sends_after_commit(
    topic: str | Topic, *, using: str = DEFAULT_DB_ALIAS, **options: Unpack[SendOptions]
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """For a function that runs in a transaction, and whose result is sent after it.

        @outbox.sends_after_commit("mail", priority=900)
        def pay(order: Order) -> dict[str, str]:
            Order.objects.filter(pk=order.pk).update(paid=True)
            return {"to": order.email}

    It returns what is sent, as `send` takes it (a message says all of itself, ``options`` are for contents); None sends
    nothing. What it raises rolls everything back. Inside a transaction that is open it becomes a part of that.
    """

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise ConfigurationError(
                f"sends_after_commit is for plain functions, and {function.__qualname__} is none: Django's"
                " transactions are synchronous; call a plain one by sync_to_async"
            )

        @functools.wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
            with transaction.atomic(using=using):
                result = function(*args, **kwargs)
                if is_message(result):
                    send(topic, result, using=using)
                elif result is not None:
                    send(topic, result, using=using, **options)  # type: ignore[arg-type]
                return result

        return wrapped

    return decorated
