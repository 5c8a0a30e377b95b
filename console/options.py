"""The one dictionary `RMQ_CONSOLE` in a project's settings, checked at once; what it does not say has a default."""

from __future__ import annotations

import difflib
import functools
import os
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver

from console import rules
from rmq_core.transport.redis_url import RedisURL

SETTING = "RMQ_CONSOLE"


@dataclass(frozen=True)
class Options:
    """The keys are these names in capitals; durations end in `_ms`. The how-to has these texts (`docsite.settings`)."""

    redis_url: str = field(metadata={"rule": rules.redis})
    """Where the queues are."""
    namespace: str = field(default="rmq", metadata={"rule": rules.namespace})
    """First part of every key."""
    console_redis_url: str = field(default="", metadata={"rule": rules.plain_redis})
    """For the console's own jobs and live updates; needed when the queues are on a Cluster, else that of the queues."""
    channel_layer: str = ""
    """A layer in your `CHANNEL_LAYERS`, which has to reach all processes; or one of the console's own."""
    zookeeper_url: str = field(default="", metadata={"rule": rules.zookeeper})
    """For workers with owners; without it every worker takes from every slot."""
    listeners: list[str] = field(default_factory=list, metadata={"rule": rules.named_objects})
    """What `manage.py worker` runs, as `package.module:attribute`; it takes names on the command line, too."""
    hooks: list[str] = field(default_factory=list, metadata={"rule": rules.named_objects})
    """What runs around the listeners of `manage.py worker`, as `package.module:attribute`; the first outermost."""
    recurring: list[str] = field(default_factory=list, metadata={"rule": rules.named_objects})
    """Recurring messages that are declared in code, as `package.module:attribute`: a `Recurring`, or a list."""
    sample_interval_ms: int = field(default=1000, metadata={"rule": rules.at_least(200)})
    """How often the keeper looks at the queues."""
    trace_link: str = field(default="", metadata={"rule": rules.trace_link})
    """Where a message's trace is shown, with `{trace_id}` in it: `https://tempo.example/trace/{trace_id}`."""
    lag_warning_ms: int = field(default=10_000, metadata={"rule": rules.at_least(1)})
    """From which lag on a topic is listed as a problem."""
    record_topics: list[str] = field(default_factory=lambda: ["*"])
    """Topics recorded in the database while their journal is on; patterns such as `order*`."""
    record_days: int = field(default=30, metadata={"rule": rules.between(1, 3_650)})
    """How long transitions, and messages that have ended, stay recorded."""
    run_routes: bool = True
    """Whether the keeper runs routes; where much is forwarded, `rmq forward` does it in processes of its own."""
    history_max_mib: int = field(default=1024, metadata={"rule": rules.between(0, 1_048_576)})
    """What the history of days may hold in the database; 0: none is kept."""
    data_dir: Path = Path()
    """Where the next three are, unless they say otherwise; `~/.local/share/rmq-console`."""
    pipeline_archive: str = ""
    """The archive of journals, any path Spark can use; `archive` in the data folder."""
    pipeline_reports: Path = Path()
    """Reports of reconciliations; `reports` in the data folder."""
    pipeline_ledgers: Path = Path()
    """Business ledgers that can be chosen; `ledgers` in the data folder."""
    pipeline_command: list[str] = field(default_factory=list)
    """What runs the pipeline instead of this Python."""


@functools.cache
def options() -> Options:
    """What this project has set. Raises `ImproperlyConfigured`, naming everything that is wrong."""
    given = getattr(settings, SETTING, None)
    if given is None:
        raise ImproperlyConfigured(f'{SETTING} is not set; the least is {SETTING} = {{"REDIS_URL": "redis://…"}}.')
    return read_options(given)


def read_options(given: Any) -> Options:
    """Check a dictionary. Raises `ImproperlyConfigured`, naming everything that is wrong."""
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(f"{SETTING} must be a dictionary.")
    known = {each.name.upper(): each for each in fields(Options)}
    problems = [_unknown(str(name), list(known)) for name in given if name not in known]
    values: dict[str, Any] = {}
    for name, each in known.items():
        try:
            if (value := given.get(name)) not in (None, ""):
                values[each.name] = _checked(each, value)
            elif each.default is MISSING and each.default_factory is MISSING:
                problems.append(f"{name}: is not set.")
        except ValueError as error:
            problems.append(f"{name}: {error}")
    url = values.get("redis_url")
    if url and "console_redis_url" not in values:
        values["console_redis_url"] = url
        if RedisURL(url).is_cluster:
            problems.append(
                "CONSOLE_REDIS_URL: REDIS_URL names a Redis Cluster, which cannot run the console's background jobs;"
                " name a single Redis server here (redis://…) for the console's own data."
            )
    if problems:
        raise ImproperlyConfigured("\n  ".join([f"{SETTING} is not usable; correct these keys:", *problems]))
    return Options(**_with_folders(values))


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name.upper(), known, 1)
    return f"{name}: there is no such key" + (f"; {near[0]} is meant?" if near else f"; there are {', '.join(known)}.")


def _checked(each: Field[Any], value: Any) -> Any:
    kind = str(each.type)
    if kind == "Path":
        if not isinstance(value, (str, os.PathLike)):
            raise ValueError("must be a path.")
        return Path(value).resolve()
    if kind == "list[str]":
        if isinstance(value, str) or not all(isinstance(one, str) for one in value):
            raise ValueError("must be a list of texts.")
        value = list(value)
    elif kind == "bool" and type(value) is not bool:
        raise ValueError("must be True or False.")
    elif kind == "int" and type(value) is not int:
        raise ValueError("must be a whole number.")
    elif kind == "str" and not isinstance(value, str):
        raise ValueError("must be text.")
    if rule := each.metadata.get("rule"):
        rule(value)
    return value


def _with_folders(values: dict[str, Any]) -> dict[str, Any]:
    folder = values.setdefault("data_dir", usual_data_dir(os.environ))
    values.setdefault("pipeline_archive", str(folder / "archive"))
    values.setdefault("pipeline_reports", folder / "reports")
    values.setdefault("pipeline_ledgers", folder / "ledgers")
    return values


def usual_data_dir(environ: Mapping[str, str]) -> Path:
    """Where this user keeps data."""
    return Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "rmq-console"


@receiver(setting_changed)
def _forget(setting: str, **kwargs: object) -> None:
    """Tests change settings."""
    if setting == SETTING:
        options.cache_clear()
