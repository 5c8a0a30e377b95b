"""What an application uses to test its listeners: a real queue with nothing to install, run step by step.

    with TestQueue() as queue:
        queue.define(Topic("reminder", TopicKind.FIXED_TIME))
        queue.send("reminder", {"order": 4711}, in_ms=3_600_000)
        assert queue.drain(remind) == Drained(done=0, failed=0)
        queue.advance(hours=1)
        assert queue.drain(remind) == Drained(done=1, failed=0)

With ``url=None`` the scripts run in fakeredis, inside the process: fast, no server (needs the package
``fakeredis[lua]``), and with a clock that `TestQueue.advance` moves. With a URL they run on that server, by its clock,
in a namespace of their own that is deleted at the end.
"""

from __future__ import annotations

import asyncio
import logging
import time
import warnings
from asyncio import CancelledError
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack
from uuid import uuid4

from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.client.rmq import RMQ
from rmq_core.errors import ConfigurationError, ConnectionLost, RMQError
from rmq_core.fake_scripts import keep_compiled
from rmq_core.hooks.hook import Hook
from rmq_core.model.composing import Content, SendOptions
from rmq_core.model.delivery import Delivery
from rmq_core.model.entry import AnyMessage
from rmq_core.model.message import DUE_MAX_MS
from rmq_core.model.outcomes import Reject, Release, Retry, words_of
from rmq_core.model.report import Note
from rmq_core.model.topic import Topic
from rmq_core.ops import chains, reporting, settling
from rmq_core.ops.sent import Sent
from rmq_core.protocol.takes import DONE
from rmq_core.worker.calls import calls_through
from rmq_core.worker.listeners import Listener, as_listeners

if TYPE_CHECKING:
    from types import TracebackType

log = logging.getLogger(__name__)

DRAIN_MAX = 100_000
RELEASES_MAX = 1_000
"""A message that was released so often in one drain is never going to be dealt with."""
ENDS_A_CALL = (Exception, CancelledError, SystemExit, GeneratorExit)
"""What a listener may raise; anything else ends the test."""
RATE_WAIT_MS = 2_000
"""Longer than the longest pause between two messages of a topic with a rate."""


class Drained(NamedTuple):
    """How many deliveries succeeded and how many failed (or were rejected or released)."""

    done: int
    failed: int


class _Tally:
    """What one drain has delivered so far."""

    def __init__(self, listener: Listener, at_most: int) -> None:
        self.drained = Drained(0, 0)
        self._listener = listener
        self._at_most = at_most
        self._released: Counter[str] = Counter()
        self._often = (0, "")

    def add(self, deliveries: list[Delivery], error: BaseException | None) -> None:
        """What became of them."""
        if not deliveries:
            return
        done, failed, more = *self.drained, len(deliveries)
        self.drained = Drained(done + more, failed) if error is None else Drained(done, failed + more)
        for delivery in deliveries:
            if isinstance(error, Release):
                self._released[delivery.id] += 1
            else:
                del self._released[delivery.id]
        self._often = max((self._released[delivery.id], delivery.id) for delivery in deliveries)

    @property
    def left(self) -> int:
        """How many more may be delivered. Says so where it would go on for ever."""
        left = self._at_most - sum(self.drained)
        times, ident = self._often
        if (times > 1 and left < 1) or times >= RELEASES_MAX:
            warnings.warn(
                f"drain() ended after {sum(self.drained)} deliveries (at_most={self._at_most}): {self._listener.name}"
                f" releases {ident!r:.80} of topic {self._listener.topic!r} again and again, and it comes back at once."
                " Release it with a delay_ms, and advance() the clock",
                RuntimeWarning,
                stacklevel=4,
            )
            return 0
        return left


class _Clock:
    """What fakeredis answers TIME with, to clients and scripts alike."""

    def __init__(self) -> None:
        self.ahead_us = 0
        self._digit = count()

    def time(self) -> list[bytes]:
        """Seconds, and microseconds beyond them."""
        # The last digit says which tenth of what a slot gives is of retried messages.
        now_us = (time.time_ns() // 1000 + self.ahead_us) // 10 * 10 + next(self._digit) * 7 % 10
        return [b"%d" % part for part in divmod(now_us, 1_000_000)]

    def client(self) -> Any:
        """A client of a server of its own, which runs by this clock."""
        try:
            import fakeredis
        except ImportError as error:
            raise ConfigurationError(
                "TestQueue() without a URL needs fakeredis: pip install 'rmq-console[testing]'"
            ) from error
        queue_time = self.time

        class Connection(fakeredis.FakeRedisConnection):
            def _connect(self) -> Any:
                session = super()._connect()
                keep_compiled(session)
                session.time = queue_time  # a command is the session's method of that name
                add = session.xadd

                def xadd(key: Any, *args: bytes) -> Any:
                    """Ids of streams are times, too."""
                    seconds, micros = queue_time()
                    ms = int(seconds) * 1000 + int(micros) // 1000
                    if args[0] == b"*" and (key.value is None or ms > key.value.last_id.ts):
                        args = (b"%d-0" % ms, *args[1:])
                    return add(key, *args)

                session.xadd = xadd
                return session

        return fakeredis.FakeRedis(connection_class=Connection)


class _Reporter:
    """Keeps what a delivery tells of itself at once. See `rmq_core.model.report.Reporter`."""

    def __init__(self, rmq: RMQ, delivery: Delivery) -> None:
        self._rmq = rmq
        self._topic = rmq.topic(delivery.topic)
        self.result_for_ms = self._topic.result_for_ms

    def note(self, note: Note) -> None:
        self._rmq.run(reporting.note(self._rmq.keyspace, self._topic, [note]))


class TestQueue:
    """A queue for one test."""

    __test__ = False  # the name is for people; pytest must not collect it

    def __init__(self, url: str | None = None, *, hooks: Iterable[Hook] = ()) -> None:
        namespace = f"test-{uuid4().hex[:12]}"
        self._clock = _Clock() if url is None else None
        self._runner: asyncio.Runner | None = None
        self._lapsed: dict[str, int] = {}
        client = self._clock.client() if self._clock else None
        self.rmq = RMQ(url or "redis://localhost:6379/0", namespace, client=client, hooks=hooks)
        self._calls = calls_through(self.rmq.hooks, "test")
        self.rmq.chance = Random(0).random  # a test that passes once passes again
        self.rmq.looks_again = url is not None  # else nobody else writes, and how fast it is decides nothing
        self.rmq._check.passed = url is None  # fakeredis has no INFO by which it could be found unfit
        self.inspector = Inspector(self.rmq)
        self.control = Control(self.rmq)

    def define(self, topic: Topic) -> Topic:
        """Declares a topic, as the application does at its start."""
        return self.rmq.define(topic)

    def send(self, topic: str | Topic, message: AnyMessage | Content, **options: Unpack[SendOptions]) -> Sent:
        """As `RMQ.send`."""
        return self.rmq.send(topic, message, **options)

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0, milliseconds: float = 0
    ) -> None:
        """Lets time pass at once: due times come, deliveries time out, back-offs end. Forward only.

        Between calls the clock runs on as usual. The clock of the process stays as it is, and so does that of a server:
        with a URL this raises `ConfigurationError`.
        """
        try:
            step = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
        except (OverflowError, TypeError, ValueError) as error:
            raise ConfigurationError(f"time cannot be moved by that: {error}") from None
        if self._clock is None:
            raise ConfigurationError("the clock of a server cannot be moved: use TestQueue() without a URL")
        if step < timedelta(0):
            raise ConfigurationError(f"time goes forward, not by {step / timedelta(seconds=1)} seconds")
        ahead_us = self._clock.ahead_us + step // timedelta(microseconds=1)
        if time.time_ns() // 1_000_000 + ahead_us // 1_000 > DUE_MAX_MS:
            raise ConfigurationError("the queue's times end in the year 2255")
        self._clock.ahead_us = ahead_us

    def drain(self, listener: Any, *, at_most: int = DRAIN_MAX) -> Drained:
        """Delivers what is ready, one after another, until nothing is or ``at_most`` were delivered.

        Plain listeners run in this thread, coroutines in an event loop that is kept until `close`; where one runs
        already, as in a test that is a coroutine itself, await `drain_async` instead.

        Outcomes count as in a worker: returning acks, raising nacks (``SystemExit`` too), `Retry`, `Reject` and
        `Release` do as they say; returning what still has to run is a failure, and so is a success that is followed by
        something which cannot be sent. An interrupt, and what a test framework
        raises to fail a test, go through.
        With ``acks="none"`` what is handed out is done before the call, and nothing comes back.
        A topic with a ``rate_limit`` takes the time that its rate wants. A message that is released again and again is
        delivered again and again: ``at_most``, or its 1,000th time, ends that with a `RuntimeWarning`.
        """
        declared = self._declared(listener)
        if declared.is_async:
            return self._own_loop(declared).run(self._drain_async(declared, at_most))
        tally = _Tally(declared, at_most)
        while deliveries := self._next(declared, tally.left):
            self._settle(tally, deliveries, self._outcome_of(declared, deliveries))
        return tally.drained

    async def drain_async(self, listener: Any, *, at_most: int = DRAIN_MAX) -> Drained:
        """The same in the running event loop; plain listeners are called in it, too."""
        return await self._drain_async(self._declared(listener), at_most)

    async def _drain_async(self, declared: Listener, at_most: int) -> Drained:
        tally = _Tally(declared, at_most)
        while deliveries := self._next(declared, tally.left):
            # Each call is a task with a context of its own, as in a worker.
            error = await asyncio.create_task(self._outcome(declared, deliveries))
            if isinstance(error, CancelledError) and _cancelled():
                raise error  # not the listener was cancelled, but the test
            self._settle(tally, deliveries, error)
        return tally.drained

    def _declared(self, listener: Any) -> Listener:
        (declared,) = as_listeners([listener])
        if declared.definition is not None:
            self.define(declared.definition)
        if declared.group:
            settings = declared.settings_in("test")
            self.rmq.define_group(declared.topic, declared.group, start=declared.start, **settings)
        return declared

    def _own_loop(self, declared: Listener) -> asyncio.Runner:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._runner = self._runner or asyncio.Runner()
            return self._runner
        raise ConfigurationError(
            f"an event loop runs already, and {declared.name} is a coroutine: await queue.drain_async(…) in it"
        )

    def _next(self, listener: Listener, most: int) -> list[Delivery]:
        most = min(listener.batch, most)
        if most < 1:
            return []
        deliveries = self.rmq.take(listener.queue, most)
        while not deliveries and self._some_expired(listener.queue):  # a take ends some, and may come back with nothing
            deliveries = self.rmq.take(listener.queue, most)
        if not deliveries and self._waits_for_its_limits(listener.queue):
            deliveries = self.rmq.take(listener.queue, most, timeout_ms=RATE_WAIT_MS)
        if listener.settles_first and deliveries:
            self.rmq.run(settling.ack(self.rmq.keyspace, self.rmq.topic(listener.queue), deliveries))
            for delivery in deliveries:
                delivery.receipt = DONE
        for delivery in deliveries:
            delivery.reporter = _Reporter(self.rmq, delivery)
        return deliveries

    def _some_expired(self, topic: str) -> bool:
        """Whether any has since this was asked last, and others are ready."""
        (sample,) = self.inspector.sample([topic])
        before, self._lapsed[topic] = self._lapsed.get(topic, 0), sample.counters.lapsed
        return sample.ready > 0 and sample.counters.lapsed > before

    def _waits_for_its_limits(self, topic: str) -> bool:
        definition = self.rmq.topic(topic)
        limited = definition.rate_limit or definition.concurrency or definition.key_concurrency
        if not limited or definition.paused:
            return False
        (sample,) = self.inspector.sample([topic])
        return sample.ready > 0

    def _settle(self, tally: _Tally, deliveries: list[Delivery], error: BaseException | None) -> None:
        done_before = all(delivery.receipt == DONE for delivery in deliveries)
        if error is None:
            for delivery in filter(chains.is_followed, deliveries):
                self._follow(tally, delivery)
            deliveries = [delivery for delivery in deliveries if not chains.is_followed(delivery)]
            self.rmq.ack(deliveries)
        elif done_before and isinstance(error, ENDS_A_CALL):
            pass  # nothing comes of it
        elif isinstance(error, Release):
            self.rmq.release(deliveries, delay_ms=error.delay_ms)
        elif isinstance(error, Reject):
            self.rmq.reject(deliveries, message=words_of(error))
        elif isinstance(error, Retry):
            self.rmq.nack(deliveries, error="Retry", message=words_of(error), delay_ms=error.delay_ms)
        elif isinstance(error, ENDS_A_CALL):
            self.rmq.nack(deliveries, error=type(error).__name__, message=words_of(error))
        else:
            raise error
        tally.add(deliveries, error)

    def _follow(self, tally: _Tally, delivery: Delivery) -> None:
        """Settles one that succeeded, and that something follows; where that is refused, it has failed."""
        try:
            if delivery.receipt == DONE:
                self.rmq.run(chains.succeeded_settled(self.rmq.keyspace, delivery, self.rmq.sending))
            else:
                self.rmq.ack(delivery)
        except ConnectionLost:
            raise
        except RMQError as refused:
            if delivery.receipt != DONE:
                self._settle(tally, [delivery], refused)
                return
            log.warning("what follows %r of topic %r is lost: %s", delivery.id, delivery.topic, refused)
        tally.add([delivery], None)

    def _outcome_of(self, listener: Listener, deliveries: list[Delivery]) -> BaseException | None:
        try:
            self._calls.call(listener, deliveries)
        except BaseException as error:
            self._calls.failed(deliveries, error)
            return error
        return None

    async def _outcome(self, listener: Listener, deliveries: list[Delivery]) -> BaseException | None:
        if not listener.is_async:
            return self._outcome_of(listener, deliveries)
        try:
            await self._calls.call_async(listener, deliveries)
        except BaseException as error:
            self._calls.failed(deliveries, error)
            return error
        return None

    def close(self) -> None:
        """Deletes everything the test made."""
        if self._runner is not None:
            self._runner.close()
        for topic in self.inspector.topics():
            self.control.delete_topic(topic.name, force=True)
        self.rmq.close()

    def __enter__(self) -> TestQueue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
