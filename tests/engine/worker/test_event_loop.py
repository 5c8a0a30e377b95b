"""The worker's event loop: woken by files as asyncio's, and by the clock to less than a millisecond."""

from __future__ import annotations

import asyncio
import selectors
import socket
import time

import pytest

from rmq_core.worker import event_loop
from rmq_core.worker.event_loop import new_event_loop

pytestmark = pytest.mark.skipif(not hasattr(selectors, "EpollSelector"), reason="epoll is Linux's")


def shortest_wait(selector: selectors.BaseSelector, seconds: float) -> float:
    """The shortest of many: a busy machine makes some longer, none shorter."""
    waits = []
    for _ in range(200):
        since = time.perf_counter()
        assert selector.select(seconds) == []
        waits.append(time.perf_counter() - since)
    return min(waits)


def test_a_wait_is_not_rounded_up_to_a_millisecond() -> None:
    with event_loop.PunctualSelector() as selector:
        assert 0.0002 <= shortest_wait(selector, 0.0002) < 0.001


def test_no_wait_is_cut_short() -> None:
    with event_loop.PunctualSelector() as selector:
        assert shortest_wait(selector, 0.0015) >= 0.0015


@pytest.mark.parametrize("timeout", [None, 10.0, 0])
def test_a_file_that_is_ready_ends_the_wait(timeout: float | None) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, event_loop.PunctualSelector() as selector:
        selector.register(ours, selectors.EVENT_READ, "mine")
        theirs.send(b"x")
        [(key, events)] = selector.select(timeout)
        assert (key.data, events) == ("mine", selectors.EVENT_READ)


def test_a_file_number_that_select_does_not_take_is_waited_for_with_epoll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "SELECT_LIMIT", 0)
    with event_loop.PunctualSelector() as selector:
        assert shortest_wait(selector, 0.0002) >= 0.0009


def test_a_loop_of_another_policy_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(asyncio.SelectorEventLoop):
        pass

    monkeypatch.setattr(asyncio, "new_event_loop", Other)
    loop = new_event_loop()
    try:
        assert type(loop) is Other
    finally:
        loop.close()
