"""What a worker does with tasks: calls them, keeps what became of them, brings deferred ones to their queue in time."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django.core.exceptions import SuspiciousOperation

from console.tasks.backend import Backend
from console.tasks.framework import json_size, normalized
from console.tasks.record import PRIORITY_ABOVE, VALUE_MAX, Attempts, Call, now_ms
from rmq_core.model.delivery import Delivery
from rmq_core.model.message import PriorityMessage
from rmq_core.model.outcomes import Reject, Release
from rmq_core.worker import Listener

log = logging.getLogger("console.tasks")


class Runner:
    """Runs the tasks of one queue of a backend; `listeners` are what a worker is given."""

    def __init__(self, backend: Backend, queue: str, worker: str) -> None:
        self._backend = backend
        self._framework = backend.framework
        self._worker = worker
        self._topic = backend.settings.topic(queue)
        self._later = backend.settings.later(queue)

    def listeners(self) -> Iterable[Listener]:
        """One for what is to be run, one for what is to be run later."""
        yield Listener(self._topic.name, self.run, self._topic, max_runtime_ms=86_400_000)
        yield Listener(self._later.name, self.forward, self._later)

    def forward(self, delivery: Delivery) -> None:
        """Its time has come. What was brought by a worker that was killed before it said so is not brought again."""
        try:
            call = Call.read(delivery.json())
        except (ValueError, TypeError) as error:
            raise Reject(f"this is no task: {error}") from error
        client = self._backend.client
        # Also at its first attempt: what a worker that was killed had in flight is not counted.
        if client.report(self._topic.name, delivery.id, delivery.id) is not None:
            return
        message = PriorityMessage(delivery.content, PRIORITY_ABOVE + call.priority, key=delivery.id)
        client.send(self._topic.name, message)

    def run(self, delivery: Delivery) -> dict[str, Any] | None:
        """Calls the task; what it returns is kept as the message's result."""
        try:
            call = Call.read(delivery.json())
            task = self._framework.task(call.task)
        except (ValueError, TypeError, ImportError, SuspiciousOperation) as error:
            raise Reject(f"this is no task: {error}") from error
        before = self._backend.client.report(self._topic.name, delivery.id, delivery.id)
        attempts = Attempts.read(before.progress if before is not None else None)
        attempts.begin(self._worker)
        delivery.progress(attempts.told())
        try:
            value = self._call(delivery, task, call, attempts)
        except Release:
            attempts.running = False
            delivery.progress(attempts.told())
            raise
        except BaseException as error:
            attempts.fail(error)
            over = delivery.last_attempt or isinstance(error, Reject)
            attempts.finished_ms = now_ms() if over else None
            delivery.progress(attempts.told())
            if over:
                self._say(self._framework.finished, delivery, call, attempts, self._framework.Status.FAILED)
            raise
        attempts.finished_ms, attempts.running = now_ms(), False
        self._say(self._framework.finished, delivery, call, attempts, self._framework.Status.SUCCESSFUL, value)
        return {**attempts.told(), "call": asdict(call), "value": value}

    def _call(self, delivery: Delivery, task: Any, call: Call, attempts: Attempts) -> Any:
        running = self._say(self._framework.started, delivery, call, attempts, self._framework.Status.RUNNING)
        if task.takes_context:
            context = self._framework.TaskContext(task_result=running)
            value = normalized(task.call(context, *call.args, **call.kwargs))
        else:
            value = normalized(task.call(*call.args, **call.kwargs))
        if (size := json_size(value)) > VALUE_MAX:
            raise ValueError(f"a task returns at most {VALUE_MAX:,} bytes as JSON, and this one returned {size:,}")
        return json.loads(json.dumps(value))  # whose keys are text

    def _say(
        self, signal: Any, delivery: Delivery, call: Call, attempts: Attempts, status: Any, value: Any = None
    ) -> Any:
        """Sends a signal; what its receivers raise is theirs."""
        result = self._backend._made(delivery.id, call, attempts, status, value)
        for receiver, error in signal.send_robust(type(self._backend), task_result=result):
            if isinstance(error, Exception):
                log.error("%r failed for task %s", receiver, delivery.id, exc_info=error)
        return result
