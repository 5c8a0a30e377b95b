"""Long polls in one process: first come, first served; nothing lost; and no thread for those who wait."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from console.api import polls
from console.api.consuming import TRUSTED_S
from console.api.polls import TopicPolls
from console.config.serving import allow_many_connections
from console.engine import AsyncEngine, new_async_engine
from rmq_core import FixedTimeMessage
from rmq_core.errors import UnknownTopic
from tests.console.conftest import Queue
from tests.console.stack import Stack
from tests.support.waiting import wait_until_async

FAR_MS = 60_000


@pytest.fixture
async def engine(queue: Queue) -> AsyncIterator[AsyncEngine]:
    queue.topic()
    own = new_async_engine()
    yield own
    await own.client.close()


def send(queue: Queue, *keys: str) -> None:
    for key in keys:
        queue.client.send("orders", FixedTimeMessage("x", queue.inspector.now_ms(), key=key), allow_past=True)


async def waiting(of_topic: TopicPolls, count: int) -> None:
    await wait_until_async(lambda: of_topic.waiting == count, what=f"{count} callers wait")


async def test_callers_are_served_in_turn(queue: Queue, engine: AsyncEngine) -> None:
    of_topic = TopicPolls(engine, "orders")
    callers = []
    for n in range(3):
        callers.append(asyncio.create_task(of_topic.take(1, FAR_MS)))
        await waiting(of_topic, n + 1)
    for n, key in enumerate(("a", "b", "c")):
        send(queue, key)
        (delivery,) = await asyncio.wait_for(callers[n], 10)
        assert delivery.id == key
    assert of_topic.waiting == 0


async def test_a_message_that_is_there_is_taken_at_once_and_shared_out(queue: Queue, engine: AsyncEngine) -> None:
    send(queue, *"abcde")
    of_topic = TopicPolls(engine, "orders")
    first, second = await asyncio.gather(of_topic.take(3, FAR_MS), of_topic.take(3, FAR_MS))
    assert (len(first), len(second)) == (3, 2)
    assert {each.id for each in first + second} == set("abcde")


async def test_a_delayed_message_is_not_early_and_not_slept_over(queue: Queue, engine: AsyncEngine) -> None:
    of_topic = TopicPolls(engine, "orders")
    caller = asyncio.create_task(of_topic.take(1, FAR_MS))
    await waiting(of_topic, 1)
    due = queue.inspector.now_ms() + 400
    queue.client.send("orders", FixedTimeMessage("x", due, key="k"))
    (delivery,) = await asyncio.wait_for(caller, 10)
    assert delivery.taken_ms >= due


async def test_whoever_waited_long_enough_gets_nothing_and_leaves_the_queue(queue: Queue, engine: AsyncEngine) -> None:
    of_topic = TopicPolls(engine, "orders")
    assert await of_topic.take(1, 50) == []
    assert of_topic.waiting == 0
    send(queue, "a")
    assert queue.find("a").row.state == "ready"


async def test_what_comes_for_somebody_who_has_gone_is_put_back(queue: Queue, engine: AsyncEngine) -> None:
    of_topic = TopicPolls(engine, "orders")
    gone = asyncio.create_task(of_topic.take(1, FAR_MS))
    await waiting(of_topic, 1)
    (waiter,) = of_topic._waiting
    # Its client hangs up at the very moment it is given its answer.
    waiter.answer.add_done_callback(lambda _: gone.cancel())
    send(queue, "a")
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(gone, 10)
    found = queue.find("a").row
    assert (found.state, found.failures) == ("ready", 0)


async def test_leaving_ends_the_search(queue: Queue, engine: AsyncEngine) -> None:
    of_topic = TopicPolls(engine, "orders")
    caller = asyncio.create_task(of_topic.take(1, FAR_MS))
    await waiting(of_topic, 1)
    server = of_topic._server
    assert server is not None
    caller.cancel()
    await asyncio.wait({server}, timeout=10)
    assert server.done() and of_topic.waiting == 0
    send(queue, "a")
    assert queue.find("a").row.state == "ready"
    (delivery,) = await of_topic.take(1, FAR_MS)
    assert delivery.id == "a"


async def test_all_who_wait_are_told_when_the_topic_goes(queue: Queue, engine: AsyncEngine) -> None:
    of_topic = TopicPolls(engine, "orders")
    callers = [asyncio.create_task(of_topic.take(1, FAR_MS)) for _ in range(3)]
    await waiting(of_topic, 3)
    queue.control.delete_topic("orders")
    for caller in callers:
        with pytest.raises(UnknownTopic):
            await asyncio.wait_for(caller, 10)


async def test_polls_are_kept_by_loop_and_topic(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polls, "_TOPICS_MOST", 2)
    one = polls.polls_of("a")
    assert polls.polls_of("a") is one and polls.polls_of("b") is not one
    for name in "cdef":
        polls.polls_of(name)
    assert len(polls._by_loop[asyncio.get_running_loop()]) <= 2


# -- a thousand at once, over HTTP, against a server of its own ---------------------------------------------------

CALLERS = 1_000
allow_many_connections()  # of this process, which opens as many


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("polls") / "data", "--shared") as stack:
        yield stack


MAKE_TOKEN = """
from datetime import timedelta
from django.utils import timezone
from console.usecases import tokens
from console.models import ApiToken
token = ApiToken(name="poll", role="Operator", rate_per_minute=100000, expires_at=timezone.now() + timedelta(hours=1))
secret = tokens.give_secret(token)
token.save()
open({path!r}, "w").write(secret)
"""


def threads_of(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("Threads:"):
            return int(line.split()[1])
    raise AssertionError(pid)


class Poll:
    """One raw HTTP request that waits."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.answer = asyncio.create_task(self._read(reader))

    @classmethod
    async def open(cls, port: int, secret: str, body: dict[str, Any]) -> Poll:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        data = json.dumps(body).encode()
        head = (
            "POST /api/v1/topics/orders:take HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {secret}\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        writer.write(head.encode() + data)
        await writer.drain()
        return cls(reader, writer)

    async def close(self) -> None:
        """Hang up."""
        self.answer.cancel()
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> tuple[int, Any]:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        return int(head.split()[1]), json.loads(await reader.readexactly(length))


@pytest.fixture(scope="module")
def secret(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("secret") / "secret"
    stack.manage(MAKE_TOKEN.format(path=str(file)))
    return file.read_text()


@pytest.fixture
def there(stack: Stack) -> Iterator[Queue]:
    """The queue of that server. What is taken and not settled comes back soon."""
    with stack.client() as client:
        queue = Queue(client)
        queue.topic(slots=16, visibility_timeout_ms=60_000, max_retries=16)
        yield queue
        queue.control.delete_topic("orders", force=True)


async def test_a_thousand_wait_without_a_thread_each(stack: Stack, secret: str, there: Queue) -> None:
    (web,) = [pid for pid, command in stack.children().items() if "uvicorn" in command]
    body = {"max": 1, "wait_ms": 30_000}
    warm = await Poll.open(stack.port, secret, body)
    send(there, "warm")
    assert (await asyncio.wait_for(warm.answer, 25))[0] == 200
    before = threads_of(web)
    callers: list[Poll] = []
    for _ in range(CALLERS // 50):
        callers += await asyncio.gather(*(Poll.open(stack.port, secret, body) for _ in range(50)))
    most = threads_of(web)
    send(there, "one")
    done, _ = await asyncio.wait([each.answer for each in callers], return_when="FIRST_COMPLETED", timeout=25)
    assert [result_of(task) for task in done] == [["one"]]
    most = max(most, threads_of(web))
    # Every one of them was waiting: as many messages as there are callers left serve them all.
    keys = [f"k{n}" for n in range(CALLERS - 1)]
    there.client.send_many(
        "orders", [FixedTimeMessage("x", there.inspector.now_ms(), key=key) for key in keys], allow_past=True
    )
    _, late = await asyncio.wait([each.answer for each in callers], timeout=25)
    assert not late
    most = max(most, threads_of(web))
    served = [ident for each in callers for ident in result_of(each.answer)]
    assert sorted(served) == sorted(["one", *keys])
    assert most <= before + 4, f"{most} threads for {CALLERS} callers, {before} for one"
    for each in (warm, *callers):
        await each.close()


async def test_a_token_revoked_meanwhile_gets_nothing(stack: Stack, there: Queue, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    stack.manage(MAKE_TOKEN.format(path=str(file)))
    token = file.read_text()
    poll = await Poll.open(stack.port, token, {"max": 1, "wait_ms": 30_000})
    begun = time.monotonic()
    stack.sql(f"UPDATE console_apitoken SET revoked_at = CURRENT_TIMESTAMP WHERE prefix = '{token[:12]}'")
    # Who has waited for less is taken at the word it came with.
    await wait_until_async(lambda: time.monotonic() - begun > 8 * TRUSTED_S, what="the poll to have waited")
    send(there, "a")
    status, found = await asyncio.wait_for(poll.answer, 25)
    assert (status, found.get("code")) == (401, "token_revoked"), found
    assert there.find("a").row.state == "ready" and there.find("a").row.failures == 0
    await poll.close()


async def test_those_who_hang_up_take_nothing_with_them(stack: Stack, secret: str, there: Queue) -> None:
    body = {"max": 1, "wait_ms": 30_000}
    callers = [await Poll.open(stack.port, secret, body) for _ in range(20)]
    for each in callers[:10]:
        await each.close()
    keys = [f"k{n}" for n in range(20)]
    send(there, *keys)
    _, late = await asyncio.wait([each.answer for each in callers[10:]], timeout=25)
    assert not late
    served = {ident for each in callers[10:] for ident in result_of(each.answer)}
    # What was on its way to somebody who hung up just then comes back by its timeout; nothing is gone.
    sample = there.inspector.sample(["orders"])[0]
    assert sample.prepare + sample.ready == 20 and sample.ledger_gap == 0
    assert served <= set(keys)
    for each in callers[10:]:
        await each.close()


def result_of(task: asyncio.Task[tuple[int, Any]]) -> list[str]:
    status, found = task.result()
    assert status == 200, found
    return [each["id"] for each in found["deliveries"]]
