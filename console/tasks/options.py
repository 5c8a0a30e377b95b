"""`OPTIONS` of a backend in `TASKS`, checked at once; what it does not say has a default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from rmq_core.errors import RMQError
from rmq_core.model.topic import MAX_RESULT_MS, NAME, Topic, TopicKind
from rmq_core.protocol.keys import Keyspace
from rmq_core.transport.redis_url import RedisURL

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Options:
    """The keys are these names in capitals. The how-to has these texts (`docsite.settings`)."""

    redis_url: str = ""
    """Where the queues are; that of `RMQ_CONSOLE` or `RMQ_OUTBOX`, where the project has one of them."""
    namespace: str = "rmq"
    """First part of every key; likewise."""
    prefix: str = "tasks"
    """The queue `mail` is the topic `tasks.mail`, and what waits for its time the topic `tasks-later.mail`."""
    database: str = ""
    """Enqueue with the transaction that is open in this database, by its outbox (`console.outbox`); '': at once."""
    max_retries: int = 0
    """How often a task that failed is tried again, 0 to 16. One whose worker was killed is run once more anyway."""
    backoff_ms: int = 1_000
    """How long before the first of these; each waits twice as long as the one before, up to a minute or this."""
    visibility_timeout_ms: int = 30_000
    """So long after its worker was killed a task is run again, or has failed. Running ones may take any time."""
    result_for_ms: int = DAY_MS
    """How long results are kept, up to 30 days."""
    slots: int = 16
    """Parts of each topic, a power of two; never changed once tasks were enqueued."""

    def topic(self, queue: str) -> Topic:
        """Where tasks of a queue wait to be run. Raises `InvalidTopic`."""
        return self._topic(f"{self.prefix}.{queue}", TopicKind.PRIORITY, self.max_retries, self.result_for_ms)

    def later(self, queue: str) -> Topic:
        """Where tasks wait for their time. Raises `InvalidTopic`."""
        return self._topic(f"{self.prefix}-later.{queue}", TopicKind.FIXED_TIME, 16, 0)

    def _topic(self, name: str, kind: TopicKind, max_retries: int, result_for_ms: int) -> Topic:
        return Topic(
            name,
            kind,
            slots=self.slots,
            max_retries=max_retries,
            backoff_ms=self.backoff_ms,
            backoff_max_ms=max(60_000, self.backoff_ms),
            visibility_timeout_ms=self.visibility_timeout_ms,
            result_for_ms=result_for_ms,
        )

    def queue_of(self, topic: str) -> str | None:
        """The queue whose tasks are run from that topic; None: it is another topic."""
        before, dot, queue = topic.partition(".")
        return queue if (before, dot) == (self.prefix, ".") else None


def read_options(alias: str, given: Any) -> Options:
    """Raises `ImproperlyConfigured`, naming everything that is wrong."""
    where = f"OPTIONS of TASKS[{alias!r}]"
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(f"{where} must be a dictionary.")
    known = {each.name.upper() for each in fields(Options)}
    problems = [
        f"{name}: there is no such key; there are {', '.join(sorted(known))}." for name in given if name not in known
    ]
    shared: dict[str, Any] = {}
    for setting in ("RMQ_CONSOLE", "RMQ_OUTBOX"):
        found = getattr(settings, setting, {})
        shared |= {name: found[name] for name in ("REDIS_URL", "NAMESPACE") if found.get(name)}
    values = {name.lower(): value for name, value in (shared | dict(given)).items() if name in known}
    for name, value in values.items():
        try:
            _check(name, value)
        except (ValueError, RMQError) as error:
            problems.append(f"{name.upper()}: {error}")
    if not values.get("redis_url"):
        problems.append('REDIS_URL: is not set; the least is "OPTIONS": {"REDIS_URL": "redis://…"}.')
    if not problems:
        try:
            Options(**values).topic("default")
        except RMQError as error:
            problems.append(str(error))
    if problems:
        raise ImproperlyConfigured("\n  ".join([f"{where} are not usable; correct these keys:", *problems]))
    return Options(**values)


def _check(name: str, value: Any) -> None:
    if name in ("redis_url", "namespace", "prefix", "database"):
        if not isinstance(value, str):
            raise ValueError("must be text.")
        if name == "redis_url":
            RedisURL(value)
        elif name == "namespace":
            Keyspace(value)
        elif name == "prefix" and ("." in value or NAME.fullmatch(value) is None):
            raise ValueError("must be a letter, then letters, digits, '_' and '-'.")
        elif name == "database" and value and value not in settings.DATABASES:
            raise ValueError(f"DATABASES has no {value!r}.")
    elif type(value) is not int or value < 0:
        raise ValueError("must be a whole number, 0 or more.")
    elif name == "result_for_ms" and not 1_000 <= value <= MAX_RESULT_MS:
        raise ValueError(f"must be from 1000 to {MAX_RESULT_MS}.")
