"""What each field of a definition is called, means and may hold: one table for forms, checks and differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.utils.translation import gettext, gettext_lazy

from console.serializers.topics import definition_json
from rmq_core.errors import InvalidTopic
from rmq_core.model.text import NotText, check_text
from rmq_core.model.topic import (
    MAX_BACKLOG,
    MAX_JOURNAL,
    MAX_RATE,
    MAX_RETRIES,
    MAX_SLOTS,
    NAME,
    Journal,
    Merge,
    Topic,
    TopicKind,
)

DAY_MS = 86_400_000
DESCRIPTION_MAX = 2_000
NAME_MAX = 100

Input = Literal["name", "choice", "count", "duration", "bytes", "flag", "text"]


@dataclass(frozen=True)
class Field:
    """One field. `fixed`: can only be chosen when the topic is created. `low` and `high` are those of the engine."""

    name: str
    label: Any
    help: Any
    input: Input
    low: int = 0
    high: int = 0
    options: tuple[tuple[str, Any], ...] = ()
    fixed: bool = False
    zero: Any = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "label": str(self.label),
            "help": str(self.help),
            "input": self.input,
            "low": self.low,
            "high": self.high,
            "options": [[value, str(label)] for value, label in self.options],
            "fixed": self.fixed,
            "zero": str(self.zero),
        }


class InvalidDefinition(InvalidTopic):
    """Some fields are wrong; `problems` says of each what is, in words for whoever filled them in."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__(" ".join(f"{name}: {problem}" for name, problem in problems.items()))


_ALL = (
    Field(
        "name",
        gettext_lazy("Name"),
        gettext_lazy("Applications use it to send and to listen. It cannot be changed later."),
        "name",
        1,
        NAME_MAX,
        fixed=True,
    ),
    Field(
        "kind",
        gettext_lazy("Kind"),
        gettext_lazy("When messages are delivered, and what a duplicate does. It cannot be changed later."),
        "choice",
        options=(
            (TopicKind.RANGE_MERGE.value, gettext_lazy("range merge: a while after the first send")),
            (TopicKind.PRIORITY.value, gettext_lazy("priority: highest first")),
            (TopicKind.FIXED_TIME.value, gettext_lazy("fixed time: at a given time")),
        ),
        fixed=True,
    ),
    Field(
        "slots",
        gettext_lazy("Slots"),
        gettext_lazy("How far the work can be spread: a power of two. It cannot be changed later."),
        "count",
        1,
        MAX_SLOTS,
        fixed=True,
    ),
    Field(
        "description",
        gettext_lazy("Description"),
        gettext_lazy("What it is for, and whom to ask."),
        "text",
        0,
        DESCRIPTION_MAX,
    ),
    Field("paused", gettext_lazy("Paused"), gettext_lazy("Nothing is taken; sending goes on."), "flag"),
    Field(
        "max_retries",
        gettext_lazy("Retries"),
        gettext_lazy("Attempts after the first one, before a message is dead."),
        "count",
        0,
        MAX_RETRIES,
        zero=gettext_lazy("dead at the first failure"),
    ),
    Field(
        "visibility_timeout_ms",
        gettext_lazy("Visibility timeout"),
        gettext_lazy("How long a delivery may stay unsettled before it is handed out again."),
        "duration",
        100,
        DAY_MS,
    ),
    Field(
        "backoff_ms",
        gettext_lazy("First back-off"),
        gettext_lazy("How long a message waits after its first failure; doubled with each further one."),
        "duration",
        0,
        DAY_MS,
        zero=gettext_lazy("tried again at once"),
    ),
    Field(
        "backoff_max_ms",
        gettext_lazy("Longest back-off"),
        gettext_lazy("The wait is never longer than this."),
        "duration",
        0,
        DAY_MS,
    ),
    Field(
        "merge",
        gettext_lazy("Merging keeps"),
        gettext_lazy("Which content survives when a duplicate with a key merges into a waiting message."),
        "choice",
        options=(
            (Merge.LATEST.value, gettext_lazy("the latest content")),
            (Merge.FIRST.value, gettext_lazy("the first content")),
        ),
    ),
    Field(
        "max_content_bytes",
        gettext_lazy("Largest content"),
        gettext_lazy("Longer ones are refused when they are sent."),
        "bytes",
        64,
        64 * 1_048_576,
    ),
    Field(
        "weight",
        gettext_lazy("Weight"),
        gettext_lazy("Its share of a worker's threads, beside other topics."),
        "count",
        1,
        1_000,
    ),
    Field(
        "max_backlog",
        gettext_lazy("Backlog limit"),
        gettext_lazy("Messages waiting, over all slots, above which sends are refused."),
        "count",
        0,
        MAX_BACKLOG,
        zero=gettext_lazy("no limit"),
    ),
    Field(
        "rate_limit",
        gettext_lazy("Rate limit"),
        gettext_lazy("Messages taken per second, by all workers together."),
        "count",
        0,
        MAX_RATE,
        zero=gettext_lazy("no limit"),
    ),
    Field(
        "undo_ms",
        gettext_lazy("Undo period"),
        gettext_lazy("How long cancelled and dropped messages can be restored."),
        "duration",
        0,
        30 * DAY_MS,
        zero=gettext_lazy("not at all"),
    ),
    Field(
        "journal",
        gettext_lazy("Journal"),
        gettext_lazy("Whether every change is recorded: for timelines, the archive and reconciliation."),
        "choice",
        options=(
            (Journal.OFF.value, gettext_lazy("off")),
            (Journal.EVENTS.value, gettext_lazy("events: what happened to which message")),
            (Journal.FULL.value, gettext_lazy("full: the contents too, so that messages can be restored")),
        ),
    ),
    Field(
        "journal_max",
        gettext_lazy("Journal limit"),
        gettext_lazy("Entries waiting for the journal's readers, over all slots, above which sends are refused."),
        "count",
        0,
        MAX_JOURNAL,
        zero=gettext_lazy("no limit"),
    ),
)

_KNOWN = {each.name: each.default for each in dataclasses.fields(Topic)}
FIELDS = tuple(each for each in _ALL if each.name in _KNOWN)
"""In the order people read them."""
BY_NAME = {each.name: each for each in FIELDS}
STORED = frozenset(_KNOWN) - {each.name for each in _ALL}
"""What storing adds."""


def defaults() -> dict[str, Any]:
    """What a new topic starts with; a name and a kind have to be given."""
    values = {name: _KNOWN[name] for name in BY_NAME if _KNOWN[name] is not dataclasses.MISSING}
    return {"name": "", "kind": TopicKind.FIXED_TIME.value, **values}


def difference(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The fields in which two definitions differ; None: there was, or will be, none."""
    if before is None or after is None:
        return []
    names = [name for name in {**before, **after} if name not in STORED]
    return [
        {"field": name, "before": before.get(name), "after": after.get(name)}
        for name in names
        if before.get(name) != after.get(name)
    ]


def wanted_topic(values: Mapping[str, Any], base: Topic | None = None) -> Topic:
    """The definition untrusted values ask for; what they leave out stays as in `base`, or the default.

    Raises `InvalidDefinition`, which tells of every wrong field, not only of the first.
    """
    start = {name: value for name, value in definition_json(base).items() if name in BY_NAME} if base else defaults()
    problems = {str(name)[:80]: gettext("There is no such field.") for name in values if name not in BY_NAME}
    merged = {**start, **{name: value for name, value in values.items() if name in BY_NAME}}
    for field in FIELDS:
        problem = _problem(field, merged[field.name])
        if problem:
            problems[field.name] = problem
    if not problems.keys() & {"backoff_ms", "backoff_max_ms"} and merged["backoff_max_ms"] < merged["backoff_ms"]:
        problems["backoff_max_ms"] = gettext("The longest back-off must not be shorter than the first one.")
    if problems:
        raise InvalidDefinition(problems)
    return Topic.from_mapping(merged)


def _problem(field: Field, value: Any) -> str | None:
    match field.input:
        case "name":
            if not isinstance(value, str) or NAME.fullmatch(value) is None:
                return gettext(
                    "It must start with a letter and hold only letters, digits, “_”, “.” and “-”; at most 100 of them."
                )
        case "choice":
            if value not in [option for option, _ in field.options]:
                return gettext("Choose one of: %(options)s.") % {
                    "options": ", ".join(option for option, _ in field.options)
                }
        case "flag":
            if not isinstance(value, bool):
                return gettext("It must be true or false.")
        case "text":
            try:
                check_text(value, field.high)
            except NotText as error:
                return gettext("It %(problem)s.") % {"problem": error}
        case _:
            if type(value) is not int or not field.low <= value <= field.high:
                return gettext("It must be a whole number from %(low)s to %(high)s.") % {
                    "low": f"{field.low:,}",
                    "high": f"{field.high:,}",
                }
            if field.name == "slots" and value & (value - 1):
                return gettext("It must be a power of two: 1, 2, 4, 8 and so on.")
    return None
