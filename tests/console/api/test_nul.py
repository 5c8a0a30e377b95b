"""The NUL character, which PostgreSQL keeps in no text, at every place of every request: refused, or kept by another
name, and never a failure. It says so of PostgreSQL only where it runs there: tests/console/test_postgres.py.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from console.models import AlertRule, PipelineSchedule, RecurringMessage, Screen
from tests.console.api.conftest import BASE, Caller, openapi
from tests.console.api.test_hostile import BODIES
from tests.console.api.test_hostile import admin as of_topics
from tests.console.api.test_query_strings import NAMED
from tests.console.api.test_walk import ROUTES

pytestmark = pytest.mark.django_db
__all__ = ["of_topics"]  # a fixture
NUL = "a\0b"


@pytest.fixture
def admin(of_topics: Caller) -> Caller:
    """With rows to change, by the names that the walk has."""
    AlertRule.objects.create(name="none", problem="dead")
    Screen.objects.create(name="none", panels="figures")
    PipelineSchedule.objects.update_or_create(pk=1, defaults={"kind": "archive", "every_ms": 3_600_000})
    every = {"topic": "orders", "content": "x", "when": "in_ms", "value": 0, "every_ms": 60_000}
    RecurringMessage.objects.create(name="none", **every)
    return of_topics


def described(key: tuple[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = openapi()["paths"][f"{BASE}{key[1]}"][key[0].lower()]
    return found


def with_nul(value: Any) -> Iterator[Any]:
    """The same with it in one of its texts, or names."""
    if isinstance(value, str):
        yield NUL
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        for odd in with_nul(each):
            changed = copy.copy(value)
            changed[key] = odd
            yield changed
    if isinstance(value, dict) and value:
        yield {**value, NUL: "a"}


def texts_of(schema: dict[str, Any], depth: int = 0) -> Any:
    """A value of that shape with a text wherever there can be one."""
    if reference := schema.get("$ref"):
        schema = openapi()["components"]["schemas"][reference.rpartition("/")[2]]
    either = [each for each in (schema.get("anyOf") or schema.get("allOf") or ()) if "type" in each or "$ref" in each]
    if either and "type" not in schema:
        found = [texts_of(each, depth + 1) for each in either]
        return next((each for each in found if each is not None), None)
    match schema.get("type"):
        case "string":
            return "a"
        case "array":
            inner = texts_of(schema.get("items", {}), depth + 1)
            return None if inner is None else [inner]
        case "object" if depth < 5:
            fields = {name: texts_of(each, depth + 1) for name, each in schema.get("properties", {}).items()}
            found = {name: each for name, each in fields.items() if each is not None}
            return found or ({"a": "a"} if schema.get("additionalProperties") else None)
    return None


@pytest.mark.parametrize("key", BODIES, ids=lambda key: " ".join(key))
def test_in_a_body(admin: Caller, key: tuple[str, str]) -> None:
    about, route = described(key).get("requestBody"), ROUTES[key]
    if about is None:
        return
    fields = texts_of(about["content"]["application/json"]["schema"]) or {}
    for name, value in {
        **fields,
        **{name: each for name, each in (route.body or {}).items() if name not in fields},
    }.items():
        for odd in with_nul(value):
            answer = admin(key[0], route.path, {**(route.body or {}), name: odd})
            assert answer.status_code < 500, (name, odd, answer.content[-2_000:])


@pytest.mark.parametrize("key", sorted(ROUTES), ids=lambda key: " ".join(key))
def test_in_an_address(admin: Caller, key: tuple[str, str]) -> None:
    path, asked = ROUTES[key].path.partition("?")[::2]
    for parameter in described(key).get("parameters", []):
        name = parameter["name"]
        if parameter["in"] == "query":
            others = [each for each in asked.split("&") if each and each.partition("=")[0] != name]
            answer = admin(key[0], f"{path}?{'&'.join([*others, f'{name}=a%00b'])}", ROUTES[key].body)
            assert answer.status_code < 500, (name, answer.content[-2_000:])
        elif parameter["in"] == "path":
            answer = admin(key[0], key[1].format_map({**NAMED, name: "a%00b"}), ROUTES[key].body)
            assert answer.status_code < 500, (name, answer.content[-2_000:])
