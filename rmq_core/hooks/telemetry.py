"""OpenTelemetry by hooks: traces that lead from a send to its handling, and metrics (needs ``rmq-console[otel]``).

    telemetry = OpenTelemetry()
    rmq = RMQ(url, hooks=[telemetry])
    Worker(url, listeners, hooks=[telemetry]).run()

Names and attributes are those of the semantic conventions for messaging
(https://opentelemetry.io/docs/specs/semconv/messaging/). What is measured goes where the application's SDK sends it;
without one nothing is measured.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rmq_core.errors import ConfigurationError
from rmq_core.hooks.hook import Handling, Hook, Sending
from rmq_core.model.delivery import Delivery
from rmq_core.model.outcomes import Reject, Release, Retry, words_of
from rmq_core.ops.sent import Sent

try:
    from opentelemetry import context, metrics, propagate, trace
except ImportError as error:
    raise ConfigurationError("OpenTelemetry is not installed: pip install 'rmq-console[otel]'") from error

if TYPE_CHECKING:
    from types import TracebackType

SCOPE = "rmq_core"
SYSTEM = "rmq"
LINKS_MAX = 128
"""Of a batch, so many messages are linked: what the SDK keeps of a span by default."""
NOTHING = context.Context()
"""No span is the parent of what comes from elsewhere."""
DECISIONS = (Retry, Reject, Release)
"""What a listener decided is no error of it."""


class OpenTelemetry(Hook):
    """A span ``send TOPIC`` around each send, whose context travels in the headers, and a span ``process TOPIC`` around
    each call of a listener, which links to the sends of its messages and is the parent of what the listener does.

    Headers make a small message one with a body: it then takes some 100 bytes more. Of duplicates that merged, the
    context is that of the send whose content is delivered.
    """

    def __init__(self, tracer_provider: Any = None, meter_provider: Any = None) -> None:
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        meter = metrics.get_meter(SCOPE, meter_provider=meter_provider)
        self._sent = meter.create_counter(
            "messaging.client.sent.messages", unit="{message}", description="Messages that were sent, or failed to be."
        )
        self._consumed = meter.create_counter(
            "messaging.client.consumed.messages", unit="{message}", description="Messages that listeners were given."
        )
        self._send_time = meter.create_histogram(
            "messaging.client.operation.duration", unit="s", description="How long sends took."
        )
        self._process_time = meter.create_histogram(
            "messaging.process.duration", unit="s", description="How long calls of listeners took."
        )
        self._dead = meter.create_counter(
            "rmq.dead_letters", unit="{message}", description="Messages that became dead letters by their listener."
        )

    def sending(self, sending: Sending) -> AbstractContextManager[Any]:
        """A span, put into the headers."""
        attributes = self._attributes("send", sending.topic, len(sending.messages))
        span = self._tracer.start_span(f"send {sending.topic}", kind=trace.SpanKind.PRODUCER, attributes=attributes)
        return _Send(span, self._send_time, self._sent, len(sending.messages), sending)

    def handling(self, handling: Handling) -> AbstractContextManager[Any]:
        """A span that links to the sends."""
        deliveries, topic = handling.deliveries, handling.topic
        span = self._tracer.start_span(
            f"process {topic}",
            kind=trace.SpanKind.CONSUMER,
            attributes=self._attributes("process", topic, len(deliveries)),
            links=[link for delivery in deliveries[:LINKS_MAX] if (link := _link(delivery)) is not None],
        )
        if span.is_recording():
            span.set_attribute("messaging.client.id", handling.worker)
            span.set_attribute("code.function.name", handling.listener)
            span.set_attribute("messaging.destination.partition.id", str(deliveries[0].slot))
            if len(deliveries) == 1:
                span.set_attribute("messaging.message.id", deliveries[0].id)
                span.set_attribute("rmq.attempt", deliveries[0].attempt)
        return _Span(span, self._process_time, self._consumed, len(deliveries), _labels("process", topic))

    def dying(self, delivery: Delivery, error: BaseException) -> None:
        """Counts it."""
        self._dead.add(1, {**_labels("process", delivery.topic), "error.type": type(error).__name__})

    def _attributes(self, operation: str, topic: str, count: int) -> dict[str, Any]:
        attributes: dict[str, Any] = {**_labels(operation, topic), "messaging.operation.type": operation}
        if count > 1:
            attributes["messaging.batch.message_count"] = count
        return attributes


class _Span:
    """Makes a span the present one, and ends it with what came of it. A class, for it is entered for each message."""

    __slots__ = ("_began", "_count", "_counter", "_duration", "_labels", "_token", "span")

    def __init__(self, span: trace.Span, duration: Any, counter: Any, count: int, labels: Mapping[str, str]) -> None:
        self.span = span
        self._duration, self._counter, self._count, self._labels = duration, counter, count, labels

    def __enter__(self) -> None:
        self._token = context.attach(trace.set_span_in_context(self.span))
        self._began = time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        labels, span = self._labels, self.span
        if error is not None and not isinstance(error, DECISIONS):
            labels = {**labels, "error.type": type(error).__name__}
            span.record_exception(error)
            span.set_status(trace.Status(trace.StatusCode.ERROR, f"{type(error).__name__}: {words_of(error)}"))
            span.set_attribute("error.type", type(error).__name__)
        elif error is not None:
            span.set_attribute("rmq.outcome", type(error).__name__.lower())
        self._duration.record(time.monotonic() - self._began, labels)
        self._counter.add(self._count, labels)
        span.end()
        context.detach(self._token)


class _Send(_Span):
    """Of a send: its context goes into the headers, and its id into the span."""

    __slots__ = ("_sending",)

    def __init__(self, span: trace.Span, duration: Any, counter: Any, count: int, sending: Sending) -> None:
        super().__init__(span, duration, counter, count, _labels("send", sending.topic))
        self._sending = sending

    def __enter__(self) -> None:
        super().__enter__()
        headers: dict[str, str] = {}
        propagate.inject(headers)
        if headers:
            try:
                self._sending.add_headers(headers)
            except BaseException as error:
                self.__exit__(type(error), error, None)  # nobody leaves what could not be entered
                raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        if isinstance(self._sending.result, Sent):
            self.span.set_attribute("messaging.message.id", self._sending.result.id)
        super().__exit__(kind, error, trace_back)


@lru_cache(maxsize=1_000)
def _labels(operation: str, topic: str) -> Mapping[str, str]:
    return {
        "messaging.system": SYSTEM,
        "messaging.operation.name": operation,
        "messaging.destination.name": topic,
    }


def _link(delivery: Delivery) -> trace.Link | None:
    headers = delivery.headers
    if not headers:
        return None
    sent = trace.get_current_span(propagate.extract(headers, NOTHING)).get_span_context()
    return trace.Link(sent) if sent.is_valid else None
