"""What may be entered: every field, its bounds, and what is told of a wrong value."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from console.usecases.definitions.fields import BY_NAME, FIELDS, STORED, InvalidDefinition, defaults, wanted_topic
from rmq_core import Topic, TopicKind
from rmq_core.errors import InvalidTopic
from rmq_core.model.topic import ONLY_OF_STREAMS


def test_every_field_of_a_topic_has_its_place_in_the_form() -> None:
    assert {each.name for each in dataclasses.fields(Topic)} == set(BY_NAME) | STORED


@pytest.mark.parametrize("name", [field.name for field in FIELDS if field.input in ("count", "duration", "bytes")])
def test_the_bounds_are_those_of_the_engine(name: str) -> None:
    field = BY_NAME[name]
    kind = TopicKind.STREAM if name in ONLY_OF_STREAMS else TopicKind.FIXED_TIME
    base = Topic("t", kind, backoff_ms=0, backoff_max_ms=86_400_000)
    for value in (field.low, field.high):
        assert getattr(dataclasses.replace(base, **{name: value}), name) == value
    for value in (field.low - 1, field.high + 1):
        with pytest.raises(InvalidTopic):
            dataclasses.replace(base, **{name: value})
        with pytest.raises(InvalidDefinition) as refused:
            wanted_topic({name: value}, base)
        assert list(refused.value.problems) == [name]


def test_the_defaults_are_those_of_the_engine() -> None:
    topic = wanted_topic({"name": "a", "kind": "priority"})
    assert topic.same_definition(Topic("a", TopicKind.PRIORITY))
    assert set(defaults()) == set(BY_NAME)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", "9lives"),
        ("name", "a b"),
        ("name", ""),
        ("name", None),
        ("name", "a" * 101),
        ("name", "<script>"),
        ("kind", "pile"),
        ("kind", ["priority"]),
        ("slots", 3),
        ("slots", "8"),
        ("max_retries", True),
        ("max_retries", 1.5),
        ("max_retries", 10**30),
        ("visibility_timeout_ms", ""),
        ("merge", "newest"),
        ("paused", "yes"),
        ("description", "x" * 2_001),
        ("description", 5),
        ("version", 7),
        ("colour", "red"),
    ],
)
def test_a_wrong_value_is_told_at_its_field(name: str, value: Any) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        wanted_topic({"name": "orders", "kind": "priority", name: value})
    assert list(refused.value.problems) == [name]
    assert len(refused.value.problems[name]) > 10


def test_all_wrong_fields_are_told_at_once() -> None:
    with pytest.raises(InvalidDefinition) as refused:
        wanted_topic({"name": "9", "kind": "x", "slots": 5, "backoff_ms": 50_000, "backoff_max_ms": 10})
    assert set(refused.value.problems) == {"name", "kind", "slots", "backoff_max_ms"}
