"""The dictionary `RMQ_OUTBOX` in a project's settings, checked at once; what it does not say has a default."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver

from rmq_core.errors import RMQError
from rmq_core.protocol.keys import Keyspace
from rmq_core.transport.redis_url import RedisURL

SETTING = "RMQ_OUTBOX"
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Options:
    """The keys are these names in capitals. The how-to has these texts (`docsite.settings`)."""

    redis_url: str = ""
    """Where the queues are; that of `RMQ_CONSOLE`, where the console is in the project."""
    namespace: str = "rmq"
    """First part of every key; that of `RMQ_CONSOLE`."""
    databases: list[str] = field(default_factory=lambda: ["default"])
    """Those of `DATABASES` that have an outbox. Each is migrated: `manage.py migrate --database=NAME`."""
    hooks: list[str] = field(default_factory=list)
    """What runs around `outbox.send`, as `package.module:attribute`, as around other sends; the first outermost."""
    fast_path: bool = True
    """Send right after the commit, in the process that has committed; the relays then only take what that missed."""
    batch: int = 1_000
    """Rows that a relay takes at once."""
    lease_ms: int = 30_000
    """How long a row is a relay's own; when that dies, another takes the row after so long."""
    park_after: int = 10
    """Failed tries after which a row is parked where waiting might help; what can never be sent is parked at once."""
    keep_ms: int = DAY_MS
    """How long rows that were sent stay, and those that were discarded; 0: not at all."""


LIMITS = {
    "batch": (1, 10_000),
    "lease_ms": (1_000, 3_600_000),
    "park_after": (1, 1_000),
    "keep_ms": (0, 3_650 * DAY_MS),
}


@functools.cache
def options() -> Options:
    """What this project has set. Raises `ImproperlyConfigured`, naming everything that is wrong."""
    return read_options(getattr(settings, SETTING, {}), getattr(settings, "RMQ_CONSOLE", {}))


def read_options(given: Any, console: Any) -> Options:
    """Check a dictionary; ``console``: that of the console, for what both have."""
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(f"{SETTING} must be a dictionary.")
    known = {each.name.upper(): each for each in fields(Options)}
    problems = [f"{name}: there is no such key; there are {', '.join(known)}." for name in given if name not in known]
    shared = {
        name: console[name] for name in ("REDIS_URL", "NAMESPACE") if isinstance(console, Mapping) and console.get(name)
    }
    values = {name.lower(): value for name, value in (shared | dict(given)).items() if name in known}
    for name, value in values.items():
        try:
            _check(name, value)
        except (ValueError, RMQError) as error:
            problems.append(f"{name.upper()}: {error}")
    if not values.get("redis_url"):
        problems.append(f'REDIS_URL: is not set; the least is {SETTING} = {{"REDIS_URL": "redis://…"}}.')
    if problems:
        raise ImproperlyConfigured("\n  ".join([f"{SETTING} is not usable; correct these keys:", *problems]))
    return Options(**values)


def _check(name: str, value: Any) -> None:
    if name in LIMITS:
        low, high = LIMITS[name]
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}.")
    elif name == "fast_path":
        if type(value) is not bool:
            raise ValueError("must be True or False.")
    elif name == "databases":
        if isinstance(value, str) or not value or not all(isinstance(one, str) for one in value):
            raise ValueError("must be a list of names of DATABASES.")
        if unknown := [one for one in value if one not in settings.DATABASES]:
            raise ValueError(f"DATABASES has no {', '.join(unknown)}.")
    elif name == "hooks":
        if isinstance(value, str) or not all(isinstance(one, str) and ":" in one for one in value):
            raise ValueError("must be a list of package.module:attribute.")
    elif not isinstance(value, str):
        raise ValueError("must be text.")
    elif name == "redis_url":
        RedisURL(value)
    else:
        Keyspace(value)


@receiver(setting_changed)
def _forget(setting: str, **kwargs: object) -> None:
    """Tests change settings."""
    if setting in (SETTING, "RMQ_CONSOLE", "DATABASES"):
        options.cache_clear()
