"""Traces, metrics and logs by hooks, read back from the real SDK."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from rmq_core import Delivery, Listener, PriorityMessage, Retry, Topic, TopicKind
from rmq_core.hooks.logs import AboutMessages, LogContext
from rmq_core.hooks.telemetry import OpenTelemetry
from rmq_core.testing import TestQueue

MAIL = Topic("mail", TopicKind.PRIORITY, slots=1, backoff_ms=0, backoff_max_ms=0, max_retries=0)


class Bench:
    """A queue whose spans and figures stay in memory."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.queue = TestQueue(hooks=[OpenTelemetry(self.tracers, self.meters)])
        self.queue.define(MAIL)

    def spans(self) -> list[ReadableSpan]:
        found = list(self.exporter.get_finished_spans())
        self.exporter.clear()
        return found

    def points(self) -> dict[str, list[Any]]:
        """Of each metric, (labels without the fixed ones, count or value)."""
        data: Any = self.reader.get_metrics_data()
        found: dict[str, list[Any]] = {}
        for metric in data.resource_metrics[0].scope_metrics[0].metrics:
            for point in metric.data.data_points:
                labels = (point.attributes["messaging.operation.name"], point.attributes.get("error.type"))
                found.setdefault(metric.name, []).append((*labels, getattr(point, "value", None) or point.count))
        return found


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    with bench.queue:
        yield bench
    bench.tracers.shutdown()
    bench.meters.shutdown()


def test_a_call_links_to_its_send_and_is_the_parent_of_what_it_does(bench: Bench) -> None:
    tracer = bench.tracers.get_tracer("app")

    def work(_: Delivery) -> None:
        with tracer.start_as_current_span("query"):
            pass

    with tracer.start_as_current_span("request"):
        sent = bench.queue.send("mail", "hello", priority=20)
    bench.queue.drain(Listener("mail", work))
    send, request, query, process = bench.spans()
    assert (send.name, send.kind, request.name) == ("send mail", SpanKind.PRODUCER, "request")
    assert (process.name, process.kind) == ("process mail", SpanKind.CONSUMER)
    assert send.parent is not None and send.parent.span_id == request.context.span_id
    assert [link.context.span_id for link in process.links] == [send.context.span_id]
    assert process.parent is None and query.parent is not None and query.parent.span_id == process.context.span_id
    expected = {
        "messaging.system": "rmq",
        "messaging.destination.name": "mail",
        "messaging.destination.partition.id": str(sent.slot),
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.message.id": sent.id,
        "messaging.client.id": "test",
        "rmq.attempt": 1,
    }
    assert expected.items() <= dict(process.attributes or {}).items()
    assert dict(send.attributes or {})["messaging.message.id"] == sent.id
    assert bench.points() == {
        "messaging.client.operation.duration": [("send", None, 1)],
        "messaging.client.sent.messages": [("send", None, 1)],
        "messaging.process.duration": [("process", None, 1)],
        "messaging.client.consumed.messages": [("process", None, 1)],
    }


def test_failures_are_errors_and_decisions_are_none(bench: Bench) -> None:
    def fail(delivery: Delivery) -> None:
        raise {"bad": ValueError("no"), "later": Retry()}[delivery.text]

    for text in ("bad", "later"):
        bench.queue.send("mail", text, priority=20)
    bench.spans()
    bench.queue.drain(Listener("mail", fail))
    bad, later = bench.spans()
    assert bad.status.status_code is StatusCode.ERROR and [event.name for event in bad.events] == ["exception"]
    assert (bad.attributes or {})["error.type"] == "ValueError"
    assert later.status.status_code is StatusCode.UNSET and (later.attributes or {})["rmq.outcome"] == "retry"
    points = bench.points()
    assert sorted(points["messaging.client.consumed.messages"], key=str) == [
        ("process", "ValueError", 1),
        ("process", None, 1),
    ]
    assert sorted(points["rmq.dead_letters"]) == [("process", "Retry", 1), ("process", "ValueError", 1)]


def test_a_batch_links_to_all_its_sends(bench: Bench) -> None:
    bench.queue.rmq.send_many("mail", [PriorityMessage(f"{i}", 20) for i in range(3)])
    bench.queue.send("mail", "apart", priority=20)
    bench.queue.drain(Listener("mail", lambda deliveries: None, batch=10))
    many, one, process = bench.spans()
    assert (many.attributes or {})["messaging.batch.message_count"] == 3
    assert (process.attributes or {})["messaging.batch.message_count"] == 4
    assert [link.context.span_id for link in process.links] == [many.context.span_id] * 3 + [one.context.span_id]


@pytest.mark.parametrize(
    "headers", [{}, {"traceparent": "nonsense"}, {"traceparent": "00-" + "0" * 32 + "-" + "0" * 16 + "-01"}]
)
def test_odd_contexts_link_to_nothing(bench: Bench, headers: dict[str, str]) -> None:
    with TestQueue() as plain:
        plain.define(MAIL)
        plain.send("mail", "hello", priority=20, headers=headers or None)
        plain._calls = bench.queue._calls
        plain.drain(Listener("mail", lambda delivery: None))
    (process,) = bench.spans()
    assert not process.links


# -- logs ------------------------------------------------------------------------------------------------------------

log = logging.getLogger("app")


def test_records_say_what_they_are_about(caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(about := AboutMessages())
    try:
        with TestQueue(hooks=[LogContext()]) as queue, caplog.at_level(logging.INFO):
            queue.define(MAIL)
            queue.rmq.send_many("mail", [PriorityMessage("a", 30), PriorityMessage("b", 20), PriorityMessage("c", 20)])
            queue.drain(Listener("mail", lambda delivery: log.info("one", extra={"topic": "mine"})), at_most=1)
            queue.drain(Listener("mail", lambda deliveries: log.info("two"), batch=2))
            log.info("outside")
    finally:
        caplog.handler.removeFilter(about)
    one, two, outside = (record.__dict__ for record in caplog.records)
    assert (one["topic"], one["message_id"], one["attempt"], one["worker"]) == ("mine", "a", 1, "test")
    assert (two["topic"], two["slot"], two["message_id"], two["attempt"]) == ("mail", 0, ["b", "c"], [1, 1])
    assert outside["topic"] is None and outside["message_id"] is None


PROGRAM = """
import logging
from rmq_core import Topic, TopicKind, Listener
from rmq_core.hooks.logs import LogContext, configure_logs
from rmq_core.testing import TestQueue

configure_logs("json")
def work(delivery):
    logging.getLogger("app").info("on my way", extra={"gate": "A 12"})
    1 / 0
with TestQueue(hooks=[LogContext()]) as queue:
    queue.define(Topic("mail", TopicKind.PRIORITY, slots=1))
    queue.send("mail", "hello", priority=20)
    try:
        raise ValueError("no")
    except ValueError:
        logging.exception("outside")
    queue.drain(Listener("mail", work), at_most=1)
"""


def test_logs_as_json() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=True)
    outside, inside = (json.loads(line) for line in ran.stderr.splitlines())
    assert outside["level"] == "ERROR" and "ValueError: no" in outside["exception"] and outside["topic"] is None
    told = {"level": "INFO", "logger": "app", "message": "on my way", "gate": "A 12", "topic": "mail", "slot": 0}
    assert (told | {"message_id": "hello", "attempt": 1, "worker": "test"}).items() <= inside.items()
    assert inside["time"].startswith("20")
