"""What can be a listener, and what a listener has to have done when it returns; the same in workers and `TestQueue`."""

from __future__ import annotations

import asyncio
import functools
import sys
import types
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from rmq_core import Delivery, Listener, PriorityMessage, Topic, TopicKind, listener
from rmq_core.errors import ConfigurationError
from rmq_core.testing import Drained, TestQueue
from rmq_core.worker import find_listeners
from rmq_core.worker.listeners import as_listeners
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async

SEEN: list[str] = []


def note(delivery: Delivery) -> None:
    SEEN.append(delivery.text)


async def note_async(delivery: Delivery, prefix: str = "") -> None:
    await asyncio.sleep(0)
    SEEN.append(prefix + delivery.text)


class Plain:
    def __call__(self, delivery: Delivery) -> None:
        note(delivery)

    def method(self, delivery: Delivery) -> None:
        note(delivery)

    @staticmethod
    def static(delivery: Delivery) -> None:
        note(delivery)

    @classmethod
    def of_class(cls, delivery: Delivery) -> None:
        note(delivery)


class Coroutine:
    async def __call__(self, delivery: Delivery) -> None:
        await note_async(delivery)

    async def method(self, delivery: Delivery) -> None:
        await note_async(delivery)


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


def passes_on(function: Any) -> Any:
    """An ordinary decorator, for plain functions."""

    @functools.wraps(function)
    def wrapper(delivery: Delivery) -> Any:
        return function(delivery)

    return wrapper


def passes_on_async(function: Any) -> Any:
    @functools.wraps(function)
    async def wrapper(delivery: Delivery) -> Any:
        return await function(delivery)

    return wrapper


GOOD: dict[str, tuple[Any, bool]] = {
    "a function": (note, False),
    "a lambda": (lambda delivery: note(delivery), False),
    "a partial": (functools.partial(note), False),
    "a callable object": (Plain(), False),
    "a bound method": (Plain().method, False),
    "a static method": (Plain.static, False),
    "a static method's object": (Plain.__dict__["static"], False),
    "a class method": (Plain.of_class, False),
    "a decorated function": (passes_on(note), False),
    "a coroutine function": (note_async, True),
    "a partial of one": (functools.partial(note_async, prefix=""), True),
    "a partial of a partial of one": (functools.partial(functools.partial(note_async), prefix=""), True),
    "an object with async __call__": (Coroutine(), True),
    "a partial of such an object": (functools.partial(Coroutine()), True),
    "a bound coroutine method": (Coroutine().method, True),
    "one under an async decorator": (passes_on_async(note_async), True),
    "an async decorator around a mock": (AsyncMock(side_effect=note_async), True),
}


@pytest.mark.parametrize(("function", "in_loop"), GOOD.values(), ids=GOOD)
async def test_what_can_be_called_with_a_delivery_is_run(bench: WorkerBench, function: Any, in_loop: bool) -> None:
    bench.topic()
    declared = Listener("work", function)
    assert declared.is_async is in_loop
    bench.send("a")
    async with bench.running(declared):
        await wait_until_async(lambda: bench.total("acked") == 1, what="the message to be done")
    assert SEEN == ["a"]


def a_generator(delivery: Delivery) -> Iterator[None]:
    note(delivery)
    yield


async def an_async_generator(delivery: Delivery) -> AsyncIterator[None]:
    note(delivery)
    yield


class Generating:
    def __call__(self, delivery: Delivery) -> Iterator[None]:
        yield

    async def method(self, delivery: Delivery) -> AsyncIterator[None]:
        yield


BAD: dict[str, tuple[Any, str]] = {
    "no function": (5, "must be a function"),
    "None": (None, "must be a function"),
    "a class method's object": (Plain.__dict__["of_class"], "must be a function"),
    "a class": (Plain, "pass an object of it"),
    "a built-in class": (list, "pass an object of it"),
    "a generator": (a_generator, "is a generator"),
    "an async generator": (an_async_generator, "is a generator"),
    "a partial of a generator": (functools.partial(a_generator), "is a generator"),
    "an object whose call is a generator": (Generating(), "is a generator"),
    "a bound async generator": (Generating().method, "is a generator"),
    "no arguments": (lambda: None, "one positional argument, the delivery"),
    "two arguments": (lambda one, two: None, "one positional argument, the delivery"),
    "a keyword alone": (lambda *, delivery: None, "one positional argument, the delivery"),
    "a method without its object": (Plain.method, "one positional argument, the delivery"),
    "a partial that has it all": (functools.partial(note, None), "one positional argument, the delivery"),
    "a coroutine object": (types.SimpleNamespace(), "must be a function"),
}


@pytest.mark.parametrize(("function", "match"), BAD.values(), ids=BAD)
def test_what_cannot_is_refused_when_it_is_declared(function: Any, match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        Listener("work", function)
    with pytest.raises(ConfigurationError, match=match):
        listener("work")(function)


def test_a_batch_listener_is_told_what_it_is_given() -> None:
    with pytest.raises(ConfigurationError, match="the list of deliveries"):
        Listener("work", lambda: None, batch=10)


@pytest.mark.parametrize(
    "function", [print, [].append, lambda *all: None, MagicMock(), dict.fromkeys, lambda a, b=1: 1]
)
def test_what_takes_more_or_does_not_say_is_accepted(function: Any) -> None:
    assert not Listener("work", function).is_async


def test_a_marked_function_that_was_wrapped_is_not_run_without_its_wrapper() -> None:
    wrapped = passes_on(listener("work")(lambda delivery: None))
    with pytest.raises(ConfigurationError, match="put @listener above all other decorators"):
        as_listeners([wrapped])


def test_a_function_is_marked_once() -> None:
    once = listener("work")(lambda delivery: None)
    with pytest.raises(ConfigurationError, match="already: for another topic, pass Listener"):
        listener("other")(once)


def test_what_cannot_be_marked_says_so() -> None:
    for function in (print, Plain().method):
        with pytest.raises(ConfigurationError, match=r"cannot be marked: pass Listener\('work'"):
            listener("work")(function)


def test_a_function_under_two_names_of_a_module_is_one_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("its_listeners")
    module.one = module.other = listener("work")(lambda delivery: None)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "its_listeners", module)
    assert [found.topic for found in find_listeners("its_listeners")] == ["work"]


async def never_run(delivery: Delivery) -> None:
    note(delivery)


class Awaitable:
    def __await__(self) -> Iterator[Any]:
        yield


def in_a_pool(delivery: Delivery) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(int)


UNFINISHED: dict[str, Callable[[Delivery], Any]] = {
    "a coroutine under a plain decorator": passes_on(never_run),
    "a lambda's coroutine": lambda delivery: never_run(delivery),
    "an object's coroutine": functools.partial(lambda function, delivery: function(delivery), never_run),
    "a generator": lambda delivery: a_generator(delivery),
    "an async generator": lambda delivery: an_async_generator(delivery),
    "an awaitable object": lambda delivery: Awaitable(),
    "a future of a thread": in_a_pool,
    "a map": lambda delivery: map(note, [delivery]),
    "a filter": lambda delivery: filter(note, [delivery]),
}


@pytest.mark.parametrize("function", UNFINISHED.values(), ids=UNFINISHED)
async def test_work_that_still_has_to_run_is_not_done(bench: WorkerBench, function: Any) -> None:
    bench.topic(max_retries=0)
    bench.send("a", "b")
    async with bench.running(Listener("work", function)):
        await wait_until_async(lambda: len(bench.ledger().queues["dead"]) == 2, what="both to have failed")
    (view,) = bench.inspector.find("work", "a")
    assert view.failure.error == "UnfinishedWork"
    assert "still has to run" in view.failure.message
    assert bench.total("acked") == 0
    assert SEEN == []


async def returns_a_coroutine(delivery: Delivery) -> Any:
    return never_run(delivery)


async def returns_a_task(delivery: Delivery) -> Any:
    return asyncio.create_task(asyncio.sleep(0))


async def returns_a_future(delivery: Delivery) -> Any:
    return asyncio.get_running_loop().create_future()


async def returns_a_generator(delivery: Delivery) -> Any:
    return a_generator(delivery)


@pytest.mark.parametrize("function", [returns_a_coroutine, returns_a_task, returns_a_future, returns_a_generator])
async def test_nor_is_what_a_coroutine_returns(bench: WorkerBench, function: Any) -> None:
    bench.topic(max_retries=0)
    bench.send("a")
    async with bench.running(Listener("work", function)):
        await wait_until_async(lambda: bench.ledger().queues["dead"], what="it to have failed")
    (view,) = bench.inspector.find("work", "a")
    assert view.failure.error == "UnfinishedWork"


@pytest.mark.parametrize("result", [0, False, "", [], {}, object(), MagicMock(), iter([1]), range(3)])
async def test_any_other_result_is_work_done(bench: WorkerBench, result: Any) -> None:
    bench.topic(max_retries=0)
    bench.send("a")
    async with bench.running(Listener("work", lambda delivery: result)):
        await wait_until_async(lambda: bench.total("acked") == 1, what="it to be done")


@pytest.mark.parametrize("function", UNFINISHED.values(), ids=UNFINISHED)
def test_the_test_queue_says_the_same(function: Any) -> None:
    with TestQueue() as queue:
        queue.define(Topic("mail", TopicKind.PRIORITY, slots=1, max_retries=0))
        queue.rmq.send("mail", PriorityMessage("a", 20))
        assert queue.drain(Listener("mail", function)) == Drained(done=0, failed=1)
        (view,) = queue.inspector.find("mail", "a")
        assert view.failure.error == "UnfinishedWork"
    assert SEEN == []


@pytest.mark.parametrize("raised", [SystemExit, GeneratorExit, asyncio.CancelledError, StopIteration])
def test_nor_does_what_ends_a_program_end_the_test_queue(raised: Any) -> None:
    def act(delivery: Delivery) -> None:
        raise raised

    with TestQueue() as queue:
        queue.define(Topic("mail", TopicKind.PRIORITY, slots=1, max_retries=0))
        queue.rmq.send("mail", PriorityMessage("a", 20))
        assert queue.drain(Listener("mail", act)) == Drained(done=0, failed=1)
