"""Where one slot stands in its topic's queue for taking, and what others still wait for because of it."""

from __future__ import annotations

from rmq_core.worker.batch import Batch
from rmq_core.worker.take_queue import Place
from rmq_core.worker.topic_work import TopicWork


class SlotPlace:
    """One for a slot runner."""

    def __init__(self, topic: TopicWork) -> None:
        self._topic = topic
        self.now: Place | None = None
        self._former: Place | None = None
        """The place it had before, which others still wait for."""
        self.ended: Batch | None = None
        """The last that ran: what its slot has next is waited for."""

    def enter(self, head: int | None) -> Place:
        """Queues, by what the slot would hand out."""
        self.now = self._topic.queue.enter(head)
        return self.now

    def improve(self, head: int) -> None:
        """The slot has something better now."""
        if self.now is not None and not self.now.granted.done():
            self.now = self._topic.queue.again(self.now, head)

    def forget(self, otherwise: Place) -> None:
        """What was taken is here: nobody need wait for it."""
        self._topic.queue.forget(self.now or otherwise)

    def done(self) -> None:
        """It took; the slot may queue again."""
        self._former, self.now = self.now, None

    def leave(self) -> None:
        """Queues no longer."""
        if self.now is not None:
            place, self.now = self.now, None
            self._topic.queue.leave(place)

    def let_go(self) -> None:
        """What the slot has next is known to whoever else wants to run, or to nobody."""
        if self.ended is not None:
            self._topic.dispatch.forget(self.ended)
            self.ended = None
        if self._former is not None:
            self._topic.queue.forget(self._former)
            self._former = None
