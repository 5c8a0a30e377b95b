"""Logs that say which message they are about: a hook that remembers it, and a filter that puts it on each record."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rmq_core.errors import ConfigurationError
from rmq_core.hooks.hook import Handling, Hook

_under_way: ContextVar[Handling | None] = ContextVar("rmq_handling", default=None)

JSON_NAMES = {"levelname": "level", "name": "logger", "exc_info": "exception"}
FIELDS = ("topic", "slot", "message_id", "attempt", "worker")


class LogContext(Hook):
    """Remembers, for `AboutMessages`, what the listener is at work on."""

    @contextmanager
    def handling(self, handling: Handling) -> Iterator[None]:
        """In the context of the call, which what it starts inherits (tasks, ``asyncio.to_thread``)."""
        token = _under_way.set(handling)
        try:
            yield
        finally:
            _under_way.reset(token)


class AboutMessages(logging.Filter):
    """Gives each record ``topic``, ``slot``, ``message_id``, ``attempt`` and ``worker`` of the call in which it was
    written; None outside of one. Of a batch of several, ``message_id`` and ``attempt`` are lists. Filters nothing out.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Fills in what the record does not say itself."""
        handling = _under_way.get()
        for field in FIELDS:
            if not hasattr(record, field):
                setattr(record, field, None if handling is None else _value(handling, field))
        return True


def configure_logs(form: str) -> None:
    """Writes the log to standard error, from INFO up: as ``text``, or as ``json``, one object a line with `FIELDS`.

    Raises `ConfigurationError` where what writes JSON is not installed.
    """
    handler = logging.StreamHandler()
    if form == "json":
        try:
            from pythonjsonlogger.json import JsonFormatter
        except ImportError as error:
            raise ConfigurationError("logs in JSON need an extra: pip install 'rmq-console[logs]'") from error
        handler.addFilter(AboutMessages())
        handler.setFormatter(
            JsonFormatter(("levelname", "name", "message", *FIELDS), timestamp="time", rename_fields=JSON_NAMES)
        )
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def _value(handling: Handling, field: str) -> object:
    first, *more = handling.deliveries
    if field == "message_id":
        return [delivery.id for delivery in handling.deliveries] if more else first.id
    if field == "attempt":
        return [delivery.attempt for delivery in handling.deliveries] if more else first.attempt
    return handling.worker if field == "worker" else getattr(first, field)
