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
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rmq_core.errors import ConfigurationError
from rmq_core.hooks.hook import Handling, Hook, Sending
from rmq_core.model.delivery import Delivery
from rmq_core.model.outcomes import Reject, Release, Retry, words_of
from rmq_core.ops.sent import Sent

try:
    from opentelemetry import metrics, propagate, trace
except ImportError as error:
    raise ConfigurationError("OpenTelemetry is not installed: pip install 'rmq-console[otel]'") from error

SCOPE = "rmq_core"
SYSTEM = "rmq"
LINKS_MAX = 128
"""Of a batch, so many messages are linked: what the SDK keeps of a span by default."""
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

    @contextmanager
    def sending(self, sending: Sending) -> Iterator[None]:
        """A span, put into the headers."""
        measures = (self._send_time, self._sent)
        with self._span("send", sending.topic, trace.SpanKind.PRODUCER, len(sending.messages), (), measures) as span:
            context: dict[str, str] = {}
            propagate.inject(context)
            if context:
                sending.add_headers(context)
            yield
            if isinstance(sending.result, Sent):
                span.set_attribute("messaging.message.id", sending.result.id)

    @contextmanager
    def handling(self, handling: Handling) -> Iterator[None]:
        """A span that links to the sends."""
        deliveries = handling.deliveries
        links = [link for delivery in deliveries[:LINKS_MAX] if (link := _link(delivery)) is not None]
        measures = (self._process_time, self._consumed)
        with self._span("process", handling.topic, trace.SpanKind.CONSUMER, len(deliveries), links, measures) as span:
            if span.is_recording():
                span.set_attribute("messaging.client.id", handling.worker)
                span.set_attribute("code.function.name", handling.listener)
                span.set_attribute("messaging.destination.partition.id", str(deliveries[0].slot))
                if len(deliveries) == 1:
                    span.set_attribute("messaging.message.id", deliveries[0].id)
                    span.set_attribute("rmq.attempt", deliveries[0].attempt)
            yield

    def dying(self, delivery: Delivery, error: BaseException) -> None:
        """Counts it."""
        self._dead.add(1, {**_labels("process", delivery.topic), "error.type": type(error).__name__})

    @contextmanager
    def _span(
        self, operation: str, topic: str, kind: trace.SpanKind, count: int, links: Any, measures: tuple[Any, Any]
    ) -> Iterator[trace.Span]:
        """The span of so many messages; measured by a histogram and a counter, with the type of the error, if any."""
        labels = _labels(operation, topic)
        attributes: dict[str, Any] = {**labels, "messaging.operation.type": operation}
        if count > 1:
            attributes["messaging.batch.message_count"] = count
        duration, counter = measures
        began = time.monotonic()
        with self._tracer.start_as_current_span(
            f"{operation} {topic}",
            kind=kind,
            attributes=attributes,
            links=links,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except DECISIONS as decision:
                span.set_attribute("rmq.outcome", type(decision).__name__.lower())
                raise
            except BaseException as error:
                labels["error.type"] = type(error).__name__
                span.record_exception(error)
                span.set_status(trace.Status(trace.StatusCode.ERROR, f"{type(error).__name__}: {words_of(error)}"))
                span.set_attribute("error.type", labels["error.type"])
                raise
            finally:
                duration.record(time.monotonic() - began, labels)
                counter.add(count, labels)


def _labels(operation: str, topic: str) -> dict[str, Any]:
    return {
        "messaging.system": SYSTEM,
        "messaging.operation.name": operation,
        "messaging.destination.name": topic,
    }


def _link(delivery: Delivery) -> trace.Link | None:
    headers = delivery.headers
    if not headers:
        return None
    context = trace.get_current_span(propagate.extract(headers)).get_span_context()
    return trace.Link(context) if context.is_valid else None
