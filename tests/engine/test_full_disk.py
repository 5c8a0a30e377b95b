"""A server whose append-only file finds no room: senders are told, nothing accepted is lost, all goes on afterwards."""

from __future__ import annotations

import asyncio

import pytest

from rmq_core import RMQ, Inspector, Listener, PriorityMessage, Topic, TopicKind, Worker, errors
from rmq_core.embedded.redis import EmbeddedRedis
from tests.engine.ledgers import assert_ledger_balances
from tests.support.disks import small_disk
from tests.support.servers import SERVER_KINDS, server_of
from tests.support.waiting import wait_until_async


@pytest.mark.parametrize("kind", SERVER_KINDS)
async def test_a_full_disk(kind: str) -> None:
    with (
        small_disk(8) as disk,
        EmbeddedRedis(disk.path / "redis", appendonly=True, executable=server_of(kind)) as server,
        RMQ(server.url, "full") as rmq,
    ):
        rmq.define(Topic("work", TopicKind.PRIORITY, slots=2))
        accepted: list[str] = []
        seen: list[str] = []

        def send(name: str) -> bool:
            rmq.send("work", PriorityMessage(name, 20))
            accepted.append(name)
            return True

        def refused() -> bool:
            """What the server takes before it has noticed, it keeps."""
            try:
                return not send(f"while full {len(accepted)}")
            except errors.ServerFull as error:
                assert "No space left on device" in str(error) and "nothing more was stored" in str(error)
                return True

        def listen(delivery: object) -> None:
            seen.append(delivery.text)  # type: ignore[attr-defined]

        worker = Worker(server.url, [Listener("work", listen)], namespace="full")
        serving = asyncio.create_task(worker.serve())
        send("before")
        await wait_until_async(lambda: seen == ["before"], what="the worker to be at work")
        disk.fill_up()
        await wait_until_async(refused, what="the server to notice")
        with pytest.raises(errors.ServerFull):
            rmq.take("work")
        assert Inspector(rmq).topics()[0].name == "work"  # reading goes on
        assert not serving.done()
        disk.make_room()

        def taken_again() -> bool:
            try:
                return send("after")
            except errors.ServerFull:
                return False

        await wait_until_async(taken_again, what="the server to write again")
        await wait_until_async(lambda: set(accepted) <= set(seen), what="all that was accepted")
        worker.stop()
        await serving
        rmq.send_many("work", [PriorityMessage(f"kept {number}", 20) for number in range(50)])
        server.restart(kill=True)
        with server.client() as raw:
            assert_ledger_balances(raw, "full")
        assert {each.text for each in rmq.take("work", 100)} == {f"kept {number}" for number in range(50)}
