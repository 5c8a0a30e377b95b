"""From a content and keywords to a message: one text for equal values, one moment for a time, no guesses."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta, timezone
from enum import IntEnum
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmq_core import (
    RMQ,
    AsyncProducer,
    AsyncRMQ,
    Control,
    DelayedMessage,
    FixedTimeMessage,
    PriorityMessage,
    Producer,
    RangeMergeMessage,
    Topic,
    TopicKind,
    errors,
    to_json,
)
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.composing import EPOCH, compose, due_ms
from rmq_core.model.text import worded

BERLIN = ZoneInfo("Europe/Berlin")

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def shuffled(value: Any) -> Any:
    """An equal value, whose keys come in another order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(each) for each in value] if isinstance(value, list) else value


@given(values)
def test_equal_values_are_one_text_that_reads_back(value: Any) -> None:
    text = to_json(value)
    assert text == to_json(shuffled(value)) == to_json(json.loads(text))
    read = json.loads(text)
    assert (read, repr(read)) == (value, repr(json.loads(json.dumps(value, sort_keys=True))))


class Half(float):
    """As numpy's numbers are."""


class Number:
    """As numpy's whole numbers are."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"Number({self.value})"


def test_what_reads_back_as_what_it_means_is_taken() -> None:
    given = MappingProxyType({"b": (1, 2), "a": OrderedDict(z=2**53 + 1, y=Half(0.5))})
    assert to_json(given) == '{"a":{"y":0.5,"z":9007199254740993},"b":[1,2]}'
    assert to_json("ü\u2028") == '"ü\u2028"'


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "no nan"),
        ({"a": [float("-inf")]}, "no -inf"),
        ({1: "a"}, "keys must be text, and 1 is an int"),
        ({"a": {None: 1, "b": 2}}, "keys must be text, and None is"),
        ({"a": b"bytes"}, "it holds a bytes"),
        ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, "it holds a datetime"),
        ([Number(1)], "it holds a Number"),
        ({1, 2}, "it holds a set"),
        (bytearray(b"a"), "it holds a bytearray"),
        (endless(), "nested too deeply, or holds itself"),
        (10**5_000, "4300 digits"),
        ({10**5_000: 1}, "<int> is an int"),
        ({"a": "\ud800"}, "a lone surrogate"),
        ({"\udfff": 1}, "a lone surrogate"),
        ("", "must not be empty"),
        (b"", "must not be empty"),
    ],
    ids=worded,
)
def test_what_would_not_arrive_as_it_was_sent_is_refused(value: Any, said: str) -> None:
    with pytest.raises(errors.InvalidMessage, match=said):
        compose(value, {"priority": 20})


class Urgency(IntEnum):
    HIGH = 900


def test_the_keyword_that_says_when_makes_the_message() -> None:
    assert compose("a", {"priority": Urgency.HIGH, "key": None}) == PriorityMessage("a", 900)
    assert compose(None, {"range_ms": Number(5)}) == RangeMergeMessage("null", 5)  # type: ignore[typeddict-item]
    assert compose({}, {"in_ms": 0, "key": "k", "version": 3}) == DelayedMessage("{}", 0, key="k", version=3)
    assert compose(b"a", {"at": 1_800_000_000_000}) == FixedTimeMessage(b"a", 1_800_000_000_000)
    assert type(compose("a", {"priority": Urgency.HIGH}).value) is int


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"key": "k"}, "say when"),
        ({"priority": None, "version": 2}, "say when"),
        ({"priority": 20, "at": 1}, "not by priority= and at="),
        ({"in_ms": 1, "at": None, "range_ms": 1}, "range_ms= and in_ms=|in_ms= and range_ms="),
        ({"delay": 5}, "no keyword 'delay'"),
        ({"priority": True}, "not bool"),
        ({"priority": "20"}, "not str"),
        ({"priority": 16}, "priority=16 must be"),
        ({"priority": 10**5_000}, "priority=<int> must be"),
        ({"at": 10**5_000}, "at=<int> must be"),
        ({"priority": 2**20 + 1}, "must be a whole number from 17"),
        ({"in_ms": 1.0}, "not float"),
        ({"in_ms": timedelta(seconds=1)}, "not timedelta"),
        ({"in_ms": -1}, "in_ms=-1 must be"),
        ({"in_ms": 10**15}, "in_ms=1000000000000000 must be"),
        ({"range_ms": 0}, "range_ms=0 must be"),
        ({"at": datetime(2026, 1, 1)}, "no time zone"),
        ({"at": date(2026, 1, 1)}, "not date"),
        ({"at": 1.5e12}, "not float"),
        ({"at": "2026-01-01T00:00:00Z"}, "not str"),
        ({"at": False}, "not bool"),
        ({"at": -5}, "from 1970 to 2255"),
        ({"at": datetime.max.replace(tzinfo=timezone(timedelta(hours=-23)))}, "from 1970 to 2255"),
        ({"at": datetime.min.replace(tzinfo=timezone(timedelta(hours=23)))}, "from 1970 to 2255"),
        ({"priority": 20, "key": ""}, "key must be"),
        ({"priority": 20, "headers": {"a": 1}}, "text to text"),
        ({"priority": 20, "version": True}, "version=True must be"),
    ],
    ids=worded,
)
def test_what_does_not_fit_is_refused(options: Any, said: str) -> None:
    with pytest.raises(errors.InvalidMessage, match=said):
        compose("a", options)


def test_a_message_has_no_keywords() -> None:
    with pytest.raises(errors.InvalidMessage, match="a PriorityMessage says all of itself"):
        compose(PriorityMessage("a", 20), {"key": "k"})


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.timezones()))
def test_a_moment_is_never_early_nor_a_millisecond_late(at: datetime) -> None:
    late = EPOCH + timedelta(milliseconds=due_ms(at)) - at
    assert timedelta(0) <= late < timedelta(milliseconds=1)


def test_the_hour_that_comes_twice_is_two_moments() -> None:
    first, second = (datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=fold) for fold in (0, 1))
    assert due_ms(second) - due_ms(first) == 3_600_000


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Any:
    with RMQ(redis_server.url, namespace) as rmq:
        rmq.define(Topic("mail", TopicKind.PRIORITY, slots=1))
        rmq.define(Topic("timed", TopicKind.FIXED_TIME, slots=1))
        yield rmq
        for name in ("mail", "timed"):
            Control(rmq).delete_topic(name, force=True)


def contents(rmq: RMQ, topic: str) -> list[Any]:
    taken = rmq.take(topic, 100, timeout_ms=5_000)
    rmq.ack(taken)
    return [each.json() for each in taken]


def test_a_producer_takes_contents(rmq: RMQ) -> None:
    refused: list[BaseException] = []
    content = {"to": "a"}
    with Producer(rmq, flush_ms=50, on_error=lambda error, some: refused.append(error)) as producer:
        awaited = producer.send("mail", content, priority=20)
        content["to"] = "changed since"
        producer.post("mail", {"to": "b"}, priority=30)
        delayed = producer.send("timed", [1], in_ms=0)
        producer.post("timed", [2], in_ms=0)
        producer.post("timed", [3], at=datetime.now(UTC))
        producer.post("timed", "3", at=datetime.now(UTC) + timedelta(hours=1), key="later")
        producer.post("mail", "wrong", in_ms=5)
        with pytest.raises(errors.InvalidMessage):
            producer.post("mail", {1}, priority=20)  # type: ignore[arg-type]
    assert (awaited.result().id, delayed.result().id) == ('{"to":"a"}', "[1]")
    assert [type(error) for error in refused] == [errors.WrongKind]
    assert contents(rmq, "mail") == [{"to": "b"}, {"to": "a"}]
    assert sorted(contents(rmq, "timed")) == [[1], [2], [3]]


async def test_so_does_an_asynchronous_one(rmq: RMQ, redis_server: EmbeddedRedis) -> None:
    async with AsyncRMQ(redis_server.url, rmq.keyspace.namespace) as client, AsyncProducer(client) as producer:
        sent = await asyncio.gather(*(producer.send("mail", {"n": n}, priority=20 + n) for n in range(3)))
        await producer.post("timed", [1], in_ms=0)
        with pytest.raises(errors.WrongKind):
            await producer.send("mail", "wrong", range_ms=5)
    assert [each.id for each in sent] == ['{"n":0}', '{"n":1}', '{"n":2}']
    assert await asyncio.to_thread(contents, rmq, "mail") == [{"n": 2}, {"n": 1}, {"n": 0}]
    assert await asyncio.to_thread(contents, rmq, "timed") == [[1]]
