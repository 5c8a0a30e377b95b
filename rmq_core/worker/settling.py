"""What became of a slot's deliveries, on its way to the server: one call settles it and takes the next."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable, Sequence

from rmq_core.errors import ConnectionLost, Fenced, RMQError
from rmq_core.model.delivery import Delivery
from rmq_core.model.outcomes import Outcome, Reject, Release, Retry, words_of
from rmq_core.ops import chains, unheard
from rmq_core.ops.sent import replayed
from rmq_core.protocol.scripts import BATCH_MAX, Within
from rmq_core.protocol.takes import (
    DONE,
    REJECTED,
    TOPIC_BACKOFF,
    Cycled,
    Nack,
    cycle,
    extend,
    failure_fragment,
    read_cycle,
    settle,
)
from rmq_core.protocol.takes import Release as ReleaseGroup
from rmq_core.worker.batch import Finished
from rmq_core.worker.topic_work import TopicWork

log = logging.getLogger(__name__)

SLOT_FOR_MS = 500
"""Nothing that comes after what a slot has is begun while it takes, and a take holds a place."""


class Settling:
    """The results of one slot that the server does not know yet; ``epoch`` is '' in shared mode."""

    def __init__(self, topic: TopicWork, slot: int, epoch: str) -> None:
        self._topic = topic
        self.slot = slot
        self.epoch = epoch
        self.unsettled: list[Finished] = []
        self.unheard = False
        """Whether this owner may have been handed out what it was never told: the answer to a take was lost."""

    def add(self, some: Iterable[Finished]) -> None:
        """More results, in the order they came."""
        if not self._topic.unsettled:
            self.unsettled += some
            return
        for delivery, error in some:
            if delivery.receipt != DONE:
                self.unsettled.append((delivery, error))
            elif error is None:
                self._topic.settled(1, 0, 0)
                if chains.is_followed(delivery):
                    self.unsettled.append((delivery, None))
            else:
                self._lost(delivery, error)

    def _lost(self, delivery: Delivery, error: BaseException) -> None:
        name, where = type(error).__name__, (self._topic.name, self.slot, delivery.id)
        if isinstance(error, Outcome):
            log.warning("%s[%d]: %r raised %s, which does nothing with acks='none': it is lost", *where, name)
        else:
            log.warning("%s[%d]: %r failed, and is lost (acks='none')", *where, exc_info=error)
        self._topic.settled(0, 1, 0)

    def lose(self, deliveries: Sequence[Delivery]) -> None:
        """Says that these, done when they were handed out, will never be begun."""
        log.warning(
            "%s[%d]: %d lost before they were begun (acks='none')", self._topic.name, self.slot, len(deliveries)
        )
        self._topic.settled(0, len(deliveries), 0)

    async def settle_first(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Settles as done what was taken and nobody has seen; those that may be handed out. The others are somebody
        else's by now, or the answer was lost with which they would have been ours: twice would be worse than never.
        """
        topic, client = self._topic.definition, self._topic.client
        receipts = [(delivery.raw_id, delivery.receipt) for delivery in deliveries]
        request = settle("ack", self._topic.keyspace, topic, self.slot, receipts, self.epoch, self._topic.by)
        (reply,) = await client.connection.run(
            Within([request], SLOT_FOR_MS) if client.target.is_cluster else [request]
        )
        if isinstance(reply, Exception):
            raise reply
        ours = [delivery for delivery, done in zip(deliveries, reply, strict=True) if done]
        for delivery in ours:
            delivery.receipt = DONE
        if stale := len(deliveries) - len(ours):
            log.warning("%s[%d]: %d settled too late, and not handed out (acks='none')", topic.name, self.slot, stale)
            self._topic.settled(0, 0, stale)
        return ours

    async def cycle(
        self, limit: int, *, alone: bool = False, floor: int | None = None, patient: bool = False
    ) -> Cycled:
        """Settles what is finished and takes up to ``limit``; ``alone``, ``floor``: see `takes.cycle`. A slot that no
        node of a Cluster serves keeps others waiting for `SLOT_FOR_MS`, unless ``patient``.
        """
        reports = self._topic.reports
        if reports.pending or reports.under_way:
            await reports.told(self.slot)
        if self._topic.unsettled:
            await self._follow_settled()
        else:
            await self._follow()
        settling = self.unsettled[:BATCH_MAX]
        acks = [(delivery.raw_id, delivery.receipt) for delivery, error in settling if error is None]
        nacks: list[Nack] = []
        releases: list[ReleaseGroup] = []
        for delivery, error in settling if len(acks) < len(settling) else ():
            if isinstance(error, Release):
                releases.append(ReleaseGroup(delivery.raw_id, delivery.receipt, error.delay_ms, delivery.score))
            elif error is not None:
                nacks.append(_nack(delivery, error, self._topic.worker_name))
        topic = self._topic.definition
        limit = limit if self._topic.lease.valid else 0
        request = cycle(
            self._topic.keyspace,
            topic,
            self.slot,
            limit,
            epoch=self.epoch,
            alone=alone,
            floor=floor,
            by=self._topic.by,
            acks=acks,
            nacks=nacks,
            releases=releases,
        )
        client = self._topic.client
        apart = client.target.is_cluster and not patient
        before = self.unheard
        self.unheard = before or bool(self.epoch and limit)
        replies = await client.connection.run(Within([request], SLOT_FOR_MS) if apart else [request])
        once = not replayed(replies)
        if once:
            self.unheard = before
        (reply,) = replies
        if isinstance(reply, Exception):
            raise reply
        cycled = read_cycle(topic, self.slot, reply, self.epoch)
        del self.unsettled[: len(settling)]
        if nacks:
            await self._follow_deaths(settling)
        stale = len(settling) - sum(cycled.statuses) if once else 0  # else it was perhaps settled by the first try
        self._topic.settled(len(acks), len(nacks), stale)
        if stale:
            log.warning("%s[%d]: %d settled too late; they were handed out again", topic.name, self.slot, stale)
        return cycled

    async def give_back_unheard(self) -> None:
        """Puts back what takes brought whose answers were lost: else what comes after it would pass it by. Nothing of
        the slot runs meanwhile.
        """
        while self.unsettled:
            await self.cycle(0)
        topic, client = self._topic, self._topic.client
        put_back = await client.run(
            unheard.give_back(topic.keyspace, topic.definition, self.slot, self.epoch, topic.by)
        )
        self.unheard = False
        if put_back:
            log.info("%s[%d]: %d that an answer was lost of were put back", topic.name, self.slot, put_back)

    async def _follow(self) -> None:
        """Sends what follows those that succeeded; where it is refused, they have failed."""
        bodied = [at for at, (delivery, _) in enumerate(self.unsettled[:BATCH_MAX]) if delivery._body is not None]
        client = self._topic.client
        for position in bodied:
            delivery, error = self.unsettled[position]
            if error is not None or not chains.is_followed(delivery):
                continue
            try:
                await client.run(chains.succeeded(client.keyspace, [delivery], client.sending))
            except ConnectionLost:
                raise
            except RMQError as refused:
                self.unsettled[position] = delivery, refused

    async def _follow_settled(self) -> None:
        """Sends what follows those that were done before they were handed out, and have succeeded; once at most."""
        client = self._topic.client
        for position in reversed(range(len(self.unsettled))):
            delivery, _ = self.unsettled[position]
            if delivery.receipt != DONE:
                continue
            del self.unsettled[position]
            try:
                await client.run(chains.succeeded_settled(client.keyspace, delivery, client.sending))
            except RMQError as error:
                log.warning("%s[%d]: what follows %r is lost: %s", self._topic.name, self.slot, delivery.id, error)

    async def _follow_deaths(self, settled: Iterable[Finished]) -> None:
        if not any(error is not None and chains.is_followed(delivery) for delivery, error in settled):
            return
        try:
            await self._topic.client.run(self._topic.client.follow_deaths(self._topic.name, self.slot))
        except RMQError as error:  # it is noted: somebody sends it later
            self._topic.trouble.say(f"{self._topic.name}[{self.slot}]: what follows a death", error)

    async def extend(self, deliveries: list[Delivery], *, alone: bool = False) -> list[Delivery]:
        """Another visibility timeout for these; those that somebody else has by now. ``alone``: see
        `rmq_core.protocol.takes.extend`.
        """
        deliveries = [delivery for delivery in deliveries if delivery.receipt != DONE]
        if not deliveries:
            return []
        receipts = [(delivery.raw_id, delivery.receipt) for delivery in deliveries]
        topic, by = self._topic.definition, self._topic.by
        request = extend(self._topic.keyspace, topic, self.slot, receipts, None, self.epoch, by=by, alone=alone)
        replies = await self._topic.client.connection.run([request])
        (renewed,) = replies
        if self.epoch and replayed(replies):  # the first try may have renewed them; an owner's are nobody else's
            renewed = await self._topic.client.run(unheard.receipts(self._topic.keyspace, topic, self.slot, deliveries))
        lost = []
        for delivery, receipt in zip(deliveries, renewed, strict=True):
            if receipt:
                delivery.receipt = receipt
            else:
                lost.append(delivery)
        return lost

    async def rest(self) -> None:
        """Settles all of it, if the server is there; takes nothing."""
        while self.unsettled:
            try:
                await self.cycle(0, patient=True)
            except Fenced:
                self.drop()
            except RMQError as error:
                self._topic.trouble.say(f"{self._topic.name}[{self.slot}]: {len(self.unsettled)} not settled", error)
                break

    def drop(self) -> None:
        """Nothing of it can be settled any more: another owner has it."""
        if self.unsettled:
            log.warning("%s[%d]: %d results are stale", self._topic.name, self.slot, len(self.unsettled))
            self._topic.settled(0, 0, len(self.unsettled))
            self.unsettled.clear()


def _nack(delivery: Delivery, error: BaseException, worker: str) -> Nack:
    delay_ms = TOPIC_BACKOFF
    if isinstance(error, Reject):
        delay_ms = REJECTED
    elif isinstance(error, Retry) and error.delay_ms is not None:
        delay_ms = error.delay_ms
    name = type(error).__name__
    try:
        trace = "".join(traceback.format_exception(error))
        fragment = failure_fragment(name, words_of(error), worker, trace)
    except Exception as failed:  # an application's exception can be as odd as it likes; its slot goes on
        fragment = failure_fragment(name, f"(its text cannot be had: {type(failed).__name__})", worker)
    return Nack(delivery.raw_id, delivery.receipt, delay_ms, fragment)
