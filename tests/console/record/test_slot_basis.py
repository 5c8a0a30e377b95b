"""The slot basis of a message goes wherever it goes, waiting, cancelled, in flight, dead, in the trash, and is told."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from console.engine import AsyncEngine
from console.models import MessageRecord
from console.record.follow import Follower
from rmq_core import (
    Delivery,
    FixedTimeMessage,
    MessageRef,
    PriorityMessage,
    RangeMergeMessage,
    Topic,
    TopicKind,
)
from rmq_core.journal import reader
from rmq_core.model.topic import QUEUE_KINDS, Journal
from rmq_core.protocol.keys import slot_for
from tests.console.conftest import Queue, roles_come_back
from tests.console.record.test_follow import engine, until_quiet

__all__ = ["engine", "roles_come_back"]
pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("roles_come_back"),
]
BASIS = b"cust\x00omer"
SLOTS = 4
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "alone": ("alone", {}),
    "pooled": ("of a pool", {"key": "pooled", "headers": {"a": "b"}}),
}
"""Id → content, and what else makes it so: small enough to be its own id but for its basis, or with a key."""


def made(queue: Queue, kind: TopicKind, ident: str) -> Any:
    content, options = FORMS[ident]
    options = options | {"slot_basis": BASIS}
    if kind is TopicKind.PRIORITY:
        return PriorityMessage(content, 20, **options)
    if kind is TopicKind.FIXED_TIME:
        return FixedTimeMessage(content, queue.inspector.now_ms(), **options)
    return RangeMergeMessage(content, 1, **options)


class Traveller:
    """One message, and where it is looked for."""

    def __init__(self, queue: Queue, follower: Follower, ident: str) -> None:
        self.queue, self.follower, self.ident = queue, follower, ident
        self.ref = MessageRef(slot_for(BASIS, SLOTS), ident)
        self.said: dict[str, set[bytes | None]] = {}

    async def is_known(self, state: str) -> None:
        """By the queue, the journal and the record."""
        await sync_to_async(self._in_the_queue)(state)
        await sync_to_async(self._in_the_journal)()
        await until_quiet(self.follower)
        record = await MessageRecord.objects.aget(ident=self.ident.encode())
        assert (record.slot, bytes(record.basis or b"")) == (self.ref.slot, BASIS), state

    def _in_the_queue(self, state: str) -> None:
        look = self.queue.inspector.removed if state == "removed" else self.queue.inspector.find
        for basis in (None, BASIS):
            (view,) = look("orders", self.ident, basis)
            assert (view.row.ref, view.slot_basis) == (self.ref, BASIS), state
            assert state == "removed" or view.row.state == state

    def _in_the_journal(self) -> None:
        """The follower has trimmed what came before."""
        client = self.queue.client
        for each in client.run(reader.read(client.keyspace, client.topic("orders"))).transitions:
            if each.id == self.ident.encode() and (each.basis is not None or each.body is not None):
                self.said.setdefault(each.event, set()).add(each.basis)

    async def does(self, action: str, state: str) -> None:
        results = await sync_to_async(getattr(self.queue.control, action))("orders", [self.ref])
        assert [each.status for each in results] == ["done"], action
        await self.is_known(state)

    async def is_taken(self) -> Delivery:
        (delivery,) = await sync_to_async(self.queue.client.take)("orders", 1, timeout_ms=5_000)
        assert (delivery.id, delivery.slot, delivery.slot_basis) == (self.ident, self.ref.slot, BASIS)
        return delivery


@pytest.mark.parametrize("journal", [Journal.EVENTS, Journal.FULL])
@pytest.mark.parametrize("kind", QUEUE_KINDS)
async def test_it_goes_where_its_message_goes(
    queue: Queue, engine: AsyncEngine, kind: TopicKind, journal: Journal
) -> None:
    await sync_to_async(queue.client.define)(
        Topic("orders", kind, slots=SLOTS, journal=journal, max_retries=1, backoff_ms=0, backoff_max_ms=0)
    )
    follower = Follower(engine)
    for ident in FORMS:
        message = Traveller(queue, follower, ident)
        assert slot_for(ident.encode(), SLOTS) != message.ref.slot, "only its basis leads to its slot"
        await sync_to_async(queue.client.send)("orders", made(queue, kind, ident))
        delivery = await message.is_taken()
        await sync_to_async(queue.client.nack)(delivery, delay_ms=3_600_000)
        await message.is_known("retrying")
        await message.does("cancel", "removed")
        await message.does("restore", "retrying")
        await message.does("run_now", "ready")
        await sync_to_async(queue.client.release)(await message.is_taken())
        await sync_to_async(queue.client.reject)(await message.is_taken())
        await message.is_known("dead")
        await message.does("drop", "removed")
        await message.does("restore", "dead")
        await message.does("requeue", "ready")
        delivery = await message.is_taken()
        await message.is_known("in_flight")
        await sync_to_async(queue.client.ack)(delivery)
        await until_quiet(follower)
        record = await MessageRecord.objects.aget(ident=ident.encode())
        assert (record.state, bytes(record.basis or b"")) == ("done", BASIS)
        assert message.said == {"sent": {BASIS}, "restored": {BASIS}}
