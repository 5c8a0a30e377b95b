"""What an application uses to test its listeners: a real queue with nothing to install, run step by step.

    with TestQueue() as queue:
        queue.define(Topic("mail", TopicKind.PRIORITY))
        queue.rmq.send("mail", PriorityMessage("hello", priority=20))
        assert queue.drain(send_mail) == Drained(done=1, failed=0)

With ``url=None`` the scripts run in fakeredis, inside the process: fast, no server (needs the package
``fakeredis[lua]``). With a URL they run on that server, in a namespace of their own that is deleted at the end.
"""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.client.rmq import RMQ
from rmq_core.errors import ConfigurationError
from rmq_core.model.message import Delivery
from rmq_core.model.outcomes import Reject, Release, Retry, words_of
from rmq_core.model.topic import Topic
from rmq_core.worker.calling import call
from rmq_core.worker.listeners import Listener, as_listeners

if TYPE_CHECKING:
    from types import TracebackType

DRAIN_MAX = 100_000
RATE_WAIT_MS = 2_000
"""Longer than the longest pause between two messages of a topic with a rate."""


class Drained(NamedTuple):
    """How many deliveries succeeded and how many failed (or were rejected or released)."""

    done: int
    failed: int


class TestQueue:
    """A queue for one test."""

    __test__ = False  # the name is for people; pytest must not collect it

    def __init__(self, url: str | None = None) -> None:
        namespace = f"test-{uuid4().hex[:12]}"
        client: Any = None
        if url is None:
            try:
                import fakeredis
            except ImportError as error:
                raise ConfigurationError("TestQueue() without a URL needs the package 'fakeredis[lua]'") from error
            client = fakeredis.FakeRedis()
        self.rmq = RMQ(url or "redis://localhost:6379/0", namespace, client=client)
        self.inspector = Inspector(self.rmq)
        self.control = Control(self.rmq)

    def define(self, topic: Topic) -> Topic:
        """Declares a topic, as the application does at its start."""
        return self.rmq.define(topic)

    def drain(self, listener: Any, *, at_most: int = DRAIN_MAX) -> Drained:
        """Delivers what is ready, one after another in this thread, until nothing is or ``at_most`` were delivered.

        Outcomes count as in a worker: returning acks, raising nacks (``SystemExit`` too), `Retry`, `Reject` and
        `Release` do as they say; returning what still has to run is a failure. An interrupt, and what a test framework
        raises to fail a test, go through.
        A topic with a ``rate_limit`` takes the time that its rate wants.
        """
        (declared,) = as_listeners([listener])
        if declared.is_async:
            raise ConfigurationError("drain runs plain listeners; test a coroutine with a Worker in its event loop")
        if declared.definition is not None:
            self.define(declared.definition)
        done = failed = 0
        while done + failed < at_most:
            most = min(declared.batch, at_most - done - failed)
            deliveries = self.rmq.take(declared.topic, most)
            if not deliveries and self._waits_for_its_rate(declared.topic):
                deliveries = self.rmq.take(declared.topic, most, timeout_ms=RATE_WAIT_MS)
            if not deliveries:
                break
            if self._deliver(declared, deliveries):
                done += len(deliveries)
            else:
                failed += len(deliveries)
        return Drained(done, failed)

    def _waits_for_its_rate(self, topic: str) -> bool:
        definition = self.rmq.topic(topic)
        if not definition.rate_limit or definition.paused:
            return False
        (sample,) = self.inspector.sample([topic])
        return sample.ready > 0

    def _deliver(self, listener: Listener, deliveries: list[Delivery]) -> bool:
        try:
            call(listener, deliveries)
        except Release as release:
            self.rmq.release(deliveries, delay_ms=release.delay_ms)
        except Reject as reject:
            self.rmq.reject(deliveries, message=words_of(reject))
        except Retry as retry:
            self.rmq.nack(deliveries, error="Retry", message=words_of(retry), delay_ms=retry.delay_ms)
        except (Exception, CancelledError, SystemExit, GeneratorExit) as error:
            self.rmq.nack(deliveries, error=type(error).__name__, message=words_of(error))
        else:
            self.rmq.ack(deliveries)
            return True
        return False

    def close(self) -> None:
        """Deletes everything the test made."""
        for topic in self.inspector.topics():
            self.control.delete_topic(topic.name, force=True)
        self.rmq.close()

    def __enter__(self) -> TestQueue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
