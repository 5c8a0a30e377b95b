"""A thousand at once wait over HTTP, against a server of its own: no thread for each, and nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.api.messages.consuming import TRUSTED_S
from console.config.serving import allow_many_connections
from rmq_core import FixedTimeMessage
from tests.console.api.test_polls import send
from tests.console.conftest import Queue
from tests.console.stack import Stack
from tests.support.waiting import PATIENCE_S, wait_until_async

CALLERS = 1_000
allow_many_connections()  # of this process, which opens as many


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


@pytest.fixture
def there(stack: Stack) -> Iterator[Queue]:
    """The queue of that server. What is taken and not settled comes back soon."""
    with stack.client() as client:
        queue = Queue(client)
        queue.topic(slots=16, visibility_timeout_ms=60_000, max_retries=16)
        yield queue
        queue.control.delete_topic("orders", force=True)


async def test_a_thousand_wait_without_a_thread_each(stack: Stack, secrets: dict[str, str], there: Queue) -> None:
    (web,) = [pid for pid, command in stack.children().items() if "uvicorn" in command]
    body = {"max": 1, "wait_ms": 30_000}
    warm = await Poll.open(stack.port, secrets["operator"], body)
    send(there, "warm")
    assert (await asyncio.wait_for(warm.answer, PATIENCE_S))[0] == 200
    before = threads_of(web)
    callers: list[Poll] = []
    for _ in range(CALLERS // 50):
        callers += await asyncio.gather(*(Poll.open(stack.port, secrets["operator"], body) for _ in range(50)))
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


async def test_a_token_revoked_meanwhile_gets_nothing(stack: Stack, there: Queue, secrets: dict[str, str]) -> None:
    token = secrets["revoked"]
    poll = await Poll.open(stack.port, token, {"max": 1, "wait_ms": 30_000})
    begun = time.monotonic()
    stack.sql(f"UPDATE console_apitoken SET revoked_at = CURRENT_TIMESTAMP WHERE prefix = '{token[:12]}'")
    # Who has waited for less is taken at the word it came with.
    await wait_until_async(lambda: time.monotonic() - begun > 8 * TRUSTED_S, what="the poll to have waited")
    send(there, "a")
    status, found = await asyncio.wait_for(poll.answer, PATIENCE_S)
    assert (status, found.get("code")) == (401, "token_revoked"), found
    assert there.find("a").row.state == "ready" and there.find("a").row.failures == 0
    await poll.close()


async def test_those_who_hang_up_take_nothing_with_them(stack: Stack, secrets: dict[str, str], there: Queue) -> None:
    body = {"max": 1, "wait_ms": 30_000}
    callers = [await Poll.open(stack.port, secrets["operator"], body) for _ in range(20)]
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
