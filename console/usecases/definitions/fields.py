"""Definitions as untrusted values: what is wrong with which field, and how two of them differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from console.serializers.topics import definition_json
from console.usecases.definitions.field_list import ALL, Field
from rmq_core.errors import InvalidTopic
from rmq_core.figures import number
from rmq_core.model.tenants import check_limits, check_tenant_from, check_weights
from rmq_core.model.text import NotText, check_text
from rmq_core.model.topic import NAME, NOT_OF_STREAMS, ONLY_OF_STREAMS, Topic, TopicKind


class InvalidDefinition(InvalidTopic):
    """Some fields are wrong; `problems` says of each what is, in words for whoever filled them in."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__(" ".join(f"{name}: {problem}" for name, problem in problems.items()))


_KNOWN = {each.name: each.default for each in dataclasses.fields(Topic)}
FIELDS = tuple(each for each in ALL if each.name in _KNOWN)
"""In the order people read them."""
BY_NAME = {each.name: each for each in FIELDS}
STORED = frozenset(_KNOWN) - {each.name for each in ALL}
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
    left_out = NOT_OF_STREAMS if merged["kind"] == TopicKind.STREAM else ONLY_OF_STREAMS
    for name, (normal, why) in left_out.items():
        if name not in problems and merged[name] != normal:
            problems[name] = gettext("It does not fit this kind: %(why)s.") % {"why": why}
    if merged["kind"] == TopicKind.PRIORITY and merged["lateness_objective_ms"]:
        problems.setdefault("lateness_objective_ms", gettext("A priority topic has no due times."))
    if merged["fair"] is True and merged["kind"] != TopicKind.PRIORITY:
        problems.setdefault("fair", gettext("Tenants take turns on priority topics only."))
    if merged["in_order"] is True and merged["key_concurrency"]:
        text = gettext("In order, one version of a key is in flight at a time anyway: it has to be 0.")
        problems.setdefault("key_concurrency", text)
    if problems:
        raise InvalidDefinition(problems)
    return Topic.from_mapping(merged)


LINES = {"tenant_weights": check_weights, "tenant_limits": check_limits, "tenant_from": check_tenant_from}
"""What checks the fields of one line."""


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
        case "line":
            try:
                LINES[field.name](value)
            except InvalidTopic:
                if field.name == "tenant_limits":
                    return gettext("It must be like acme=held, globex=10/s, initech=5/min 3 at once.")
                if field.name == "tenant_weights":
                    return gettext("It must be like acme=3, globex=10; weights are whole numbers from 1 to 100.")
                return gettext("It must be header:NAME, key:SEPARATOR or empty.")
        case "text":
            try:
                check_text(value, field.high)
            except NotText as error:
                return gettext("It %(problem)s.") % {"problem": error}
        case _:
            if type(value) is not int or not field.low <= value <= field.high:
                return gettext("It must be a whole number from %(low)s to %(high)s.") % {
                    "low": number(field.low),
                    "high": number(field.high),
                }
            if field.name == "slots" and value & (value - 1):
                return gettext("It must be a power of two: 1, 2, 4, 8 and so on.")
    return None
