"""A Ctrl-C, or a signal handler that raises, at any moment inside a call: the next call is not the worse for it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from rmq_core import RMQ, Control, PriorityMessage, Producer, Topic, TopicKind
from rmq_core.client.shared_check import SharedCheck
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.protocol.scripts import Operation
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
SIGNALS = """
import signal
from rmq_core.transport.retry import pack

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
numbers = ("ECHO", *range(1_000_000, 1_020_000), 0.5)
for number in range(200):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.000_1 + number * 0.000_01)
        while True:
            pack([numbers])
    except KeyboardInterrupt:
        pass
"""


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    """A client of database 3."""
    with RMQ(f"{redis_server.url.rpartition('/')[0]}/3", namespace) as client:
        yield client


def plain(*command: Any) -> Operation[Any]:
    (reply,) = yield [command]
    return reply


def interrupt_once(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *, first: bool = False) -> None:
    """The next call of that function is interrupted at its end, or at its beginning."""
    original: Callable[..., Any] = getattr(owner, name)

    def interrupted(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(owner, name, original)
        if not first:
            original(*args, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)


def test_a_signal_while_commands_are_packed_is_an_exception() -> None:
    done = subprocess.run([sys.executable, "-c", SIGNALS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_numbers_of_a_greeting_are_written_out_too(rmq: RMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    for module in ("rmq_core.transport.packing.pack_command", "redis.connection.hiredis.pack_command"):
        original = redis.connection.hiredis.pack_command

        def noting(words: tuple[Any, ...], original: Callable[..., bytes] = original) -> bytes:
            seen.extend(words)
            return original(words)

        monkeypatch.setattr(module, noting)
    assert rmq.run(plain("ECHO", 17)) == b"17"
    assert [each for each in seen if isinstance(each, (int, float))] == []


@pytest.mark.parametrize("first", [True, False], ids=["at its beginning", "at its end"])
def test_an_interrupted_look_at_the_server_holds_nobody_up(
    rmq: RMQ, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    interrupt_once(monkeypatch, SharedCheck, "_make", first=first)
    with pytest.raises(KeyboardInterrupt):
        rmq.run(plain("ECHO", "first"))
    told: list[Any] = []
    threading.Thread(target=lambda: told.append(rmq.run(plain("ECHO", "second"))), daemon=True).start()
    wait_until(lambda: told, what="another thread's call")
    assert told == [b"second"]


def test_no_reply_of_an_interrupted_command_is_taken_for_the_next_one(
    rmq: RMQ, monkeypatch: pytest.MonkeyPatch, namespace: str
) -> None:
    assert rmq.run(plain("ECHO", "first")) == b"first"
    interrupt_once(monkeypatch, redis.connection.Connection, "send_command")
    with pytest.raises(KeyboardInterrupt):
        rmq.run(plain("BLPOP", f"{namespace}:nothing", "0.5"))  # its reply is still to come
    assert rmq.run(plain("ECHO", "second")) == b"second"


def test_no_connection_is_used_that_does_not_know_its_database(rmq: RMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    rmq.run(plain("ECHO", "opened"))
    rmq.connection.client.connection_pool.disconnect()
    interrupt_once(monkeypatch, redis.connection.Connection, "on_connect_check_health", first=True)
    with pytest.raises(KeyboardInterrupt):
        rmq.run(plain("ECHO", "interrupted"))
    assert b" db=3 " in rmq.run(plain("CLIENT", "INFO"))


def test_nothing_is_sent_to_another_database(rmq: RMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    rmq.define(Topic("work", TopicKind.PRIORITY, slots=1))
    rmq.topic("work")
    rmq.connection.client.connection_pool.disconnect()
    interrupt_once(monkeypatch, redis.connection.Connection, "on_connect_check_health", first=True)
    with pytest.raises(KeyboardInterrupt):
        rmq.send("work", PriorityMessage("a", 20))
    rmq.send("work", PriorityMessage("b", 20))
    assert [each.text for each in rmq.take("work", 10)] == ["b"]
    Control(rmq).delete_topic("work", force=True)


def test_a_line_is_never_given_back_twice(rmq: RMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    rmq.define(Topic("work", TopicKind.PRIORITY, slots=1))
    rmq.send("work", PriorityMessage("a", 20))
    lines = rmq.connection._lines
    interrupt_once(monkeypatch, lines, "give_back")
    with pytest.raises(KeyboardInterrupt):
        rmq.send("work", PriorityMessage("b", 20))
    (free,) = lines._free.values()
    assert len({id(connection) for connection, _ in free}) == len(free)
    Control(rmq).delete_topic("work", force=True)


def test_a_producer_goes_on_after_an_interrupt_at_its_lock(rmq: RMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    rmq.define(Topic("work", TopicKind.PRIORITY, slots=1))
    with Producer(rmq) as producer:
        producer.send("work", PriorityMessage("a", 20)).result(30)
        interrupt_once(monkeypatch, threading.Condition, "__enter__")
        with contextlib.suppress(KeyboardInterrupt):
            producer.send("work", PriorityMessage("b", 20))
        monkeypatch.undo()
        assert not producer.send("work", PriorityMessage("c", 20)).result(30).merged
    assert {"a", "c"} <= {each.text for each in rmq.take("work", 10)}
    Control(rmq).delete_topic("work", force=True)
