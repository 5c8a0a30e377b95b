"""The backend: enqueues tasks as messages, and finds their results."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from django.apps import apps
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from console.tasks.clients import client
from console.tasks.framework import Framework, normalized
from console.tasks.options import read_options
from console.tasks.record import PRIORITY_ABOVE, Attempts, Call, moment, now_ms, to_ms
from rmq_core.client.rmq import RMQ
from rmq_core.errors import InvalidMessage, InvalidTopic, RMQError, UnknownTopic
from rmq_core.model.message import FixedTimeMessage, PriorityMessage
from rmq_core.model.topic import Topic
from rmq_core.model.views import FailureRecord, MessageView
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.protocol.slot_calls import reap
from rmq_core.queries import by_id, definitions
from rmq_core.queries.present import now_ms as now_ms_of

REST_S = 10.0
LOOKS = 3
"""A task that ends while it is looked for is found at the second look."""


class Backend:
    """What both backends are, beside their package's base class."""

    framework: Framework
    alias: str
    queues: set[str]
    options: dict[str, Any]
    validate_task: Any

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)  # type: ignore[call-arg]
        self.settings = read_options(alias, self.options)
        self._defined: set[str] = set()
        self._rests_until = 0.0

    @property
    def client(self) -> RMQ:
        """The way to the queue."""
        return client(self.settings.redis_url, self.settings.namespace)

    # -- enqueueing

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Sends it; or writes it into the outbox of the transaction that is open in the database that OPTIONS names."""
        self.validate_task(task)
        call = Call(
            task=task.module_path,
            args=normalized(list(args)),
            kwargs=normalized(dict(kwargs)),
            backend=self.alias,
            queue=task.queue_name,
            priority=task.priority,
            enqueued_ms=now_ms(),
            run_after_ms=None if task.run_after is None else to_ms(task.run_after),
        ).check()
        ident = uuid4().hex
        self._send(ident, call)
        result = self._result(ident, task, call, Attempts(), self.framework.Status.READY)
        self.framework.enqueued.send(type(self), task_result=result)
        return result

    def _send(self, ident: str, call: Call) -> None:
        content = json.dumps(call.content(), ensure_ascii=False).encode(errors="backslashreplace")
        later = call.run_after_ms is not None and call.run_after_ms > call.enqueued_ms
        message: Any
        try:
            topic = self.settings.later(call.queue) if later else self.settings.topic(call.queue)
        except InvalidTopic as error:
            raise self.framework.InvalidTask(f"queue {call.queue!r} cannot be a topic: {error}") from None
        if later and call.run_after_ms is not None:
            message = FixedTimeMessage(content, call.run_after_ms, key=ident)
        else:
            message = PriorityMessage(content, PRIORITY_ABOVE + call.priority, key=ident)
        database = self.settings.database
        if database and connections[database].in_atomic_block:
            self._commit(topic, message, database)
            return
        self._define(topic, self.client)
        try:
            self.client.send(topic.name, message, allow_past=True)
        except UnknownTopic:  # deleted meanwhile
            self.client.define(topic)
            self.client.send(topic.name, message, allow_past=True)

    def _commit(self, topic: Topic, message: Any, database: str) -> None:
        from console import outbox  # an app that only those need who ask for it
        from console.outbox.clients import quick

        with contextlib.suppress(RMQError):  # Redis is away: a worker defines it at its start
            self._define(topic, quick())
        outbox.send(topic.name, message, using=database, allow_past=True)

    def _define(self, topic: Topic, client: RMQ) -> None:
        """Once in this process. One that did not work out is not tried again for a while: a request does not wait."""
        if topic.name in self._defined or time.monotonic() < self._rests_until:
            return
        self._rests_until = time.monotonic() + REST_S
        client.define(topic)
        self._defined.add(topic.name)
        self._rests_until = 0.0

    # -- results

    def get_result(self, result_id: str) -> Any:
        """What is known of it. Raises `TaskResultDoesNotExist` where nothing is, or no longer."""
        for queue in self._queues():
            for _ in range(LOOKS):
                found = self._found(result_id, queue)
                if found is not None:
                    return found
                if not self._waits(result_id, queue):
                    break
        raise self.framework.DoesNotExist(result_id)

    def _queues(self) -> Iterable[str]:
        if self.queues:
            return sorted(self.queues)
        topics = self.client.run(definitions.read_all(self.client.keyspace))
        return [queue for topic in topics if (queue := self.settings.queue_of(topic.name)) is not None]

    def _found(self, ident: str, queue: str) -> Any:
        """In the topic where tasks are run, else in the one where they wait for their time."""
        try:
            topic = self.settings.topic(queue).name
            view = self._view(ident, topic)
            report = self.client.report(topic, ident, ident)
        except UnknownTopic:
            view = report = None
        except (InvalidMessage, InvalidTopic):
            return None
        if report is not None and report.done:
            told = report.result
            if isinstance(told, dict) and "call" in told:
                attempts = Attempts.read(told)
                return self._made(
                    ident, Call.read(told["call"]), attempts, self.framework.Status.SUCCESSFUL, told["value"]
                )
            return None
        if view is None:
            later = self._view(ident, self.settings.later(queue).name)
            return None if later is None else self._read(ident, later, None)
        return self._read(ident, view, report.progress if report is not None else None)

    def _waits(self, ident: str, queue: str) -> bool:
        """Whether it has come to be run since it was looked for there."""
        return self._view(ident, self.settings.topic(queue).name) is not None

    def _view(self, ident: str, topic: str) -> MessageView | None:
        try:
            views = self.client.run(self.client.on_topic(by_id.find, topic, ident, ident))
        except (UnknownTopic, InvalidMessage):
            return None
        if not views or not self._is_over(views[0]):
            return views[0] if views else None
        # Whoever had it was killed, and nobody has looked at its slot since: where no worker runs, this does.
        self.client.run(self.client.on_topic(_reap, topic, views[0].row.slot))
        views = self.client.run(self.client.on_topic(by_id.find, topic, ident, ident))
        return views[0] if views else None

    def _is_over(self, view: MessageView) -> bool:
        taken_ms = view.row.score_ms
        if view.row.state != "in_flight" or taken_ms is None:
            return False
        return self.client.run(now_ms_of(self.client.keyspace)) >= taken_ms + self.settings.visibility_timeout_ms

    def _read(self, ident: str, view: MessageView, told: Any) -> Any:
        status, attempts = self.framework.Status, Attempts.read(told)
        state = view.row.state
        if state == "dead":
            _died(attempts, view.failure)
            return self._made(ident, _call(view), attempts, status.FAILED)
        running = state == "in_flight" and attempts.running  # else a worker has it, and has not begun
        return self._made(ident, _call(view), attempts, status.RUNNING if running else status.READY)

    def _made(self, ident: str, call: Call, attempts: Attempts, status: Any, value: Any = None) -> Any:
        task = self.framework.task(call.task).using(
            priority=call.priority, queue_name=call.queue, run_after=moment(call.run_after_ms), backend=call.backend
        )
        return self._result(ident, task, call, attempts, status, value)

    def _result(self, ident: str, task: Any, call: Call, attempts: Attempts, status: Any, value: Any = None) -> Any:
        result = self.framework.TaskResult(
            task=task,
            id=ident,
            status=status,
            enqueued_at=moment(call.enqueued_ms),
            started_at=moment(attempts.started_ms),
            finished_at=moment(attempts.finished_ms),
            last_attempted_at=moment(attempts.last_ms),
            args=call.args,
            kwargs=call.kwargs,
            backend=call.backend,
            errors=[
                self.framework.TaskError(exception_class_path=path, traceback=text) for path, text in attempts.errors
            ],
            worker_ids=list(attempts.worker_ids),
        )
        object.__setattr__(result, "_return_value", value)
        return result

    # -- checks

    def check(self, **kwargs: Any) -> Iterable[checks.CheckMessage]:
        """What the project lacks."""
        yield from super().check(**kwargs)  # type: ignore[misc]
        where = f"TASKS[{self.alias!r}]"
        if not apps.is_installed("console.tasks"):
            yield checks.Error(
                f"{where} is of console.tasks, which is not installed.",
                "Insert 'console.tasks' in INSTALLED_APPS.",
                id="rmq_tasks.E001",
            )
        for queue in sorted(self.queues):
            try:
                self.settings.later(queue)
            except InvalidTopic as error:
                yield checks.Error(f"{where}: queue {queue!r} cannot be a topic: {error}", id="rmq_tasks.E002")
        if self.settings.database:
            yield from self._check_outbox(where)

    def _check_outbox(self, where: str) -> Iterable[checks.CheckMessage]:
        database = self.settings.database
        if not apps.is_installed("console.outbox"):
            yield checks.Error(
                f"{where} enqueues by the outbox of database {database!r}, and there is none.",
                "Insert 'console.outbox' in INSTALLED_APPS, or leave DATABASE out of OPTIONS.",
                id="rmq_tasks.E003",
            )
            return
        from console.outbox.options import options

        try:
            known = options()
        except ImproperlyConfigured:
            return  # which its own check says
        if database not in known.databases:
            yield checks.Error(
                f"{where} enqueues by the outbox of database {database!r}, which nobody relays.",
                "Add it to DATABASES of RMQ_OUTBOX.",
                id="rmq_tasks.E004",
            )
        if (known.redis_url, known.namespace) != (self.settings.redis_url, self.settings.namespace):
            yield checks.Error(f"{where} and RMQ_OUTBOX name different queues.", id="rmq_tasks.E005")


def backend_of(framework: Framework) -> Any:
    """The backend for tasks of a package."""
    return type(
        "RMQBackend", (Backend, framework.BaseTaskBackend), {"framework": framework, "__doc__": Backend.__doc__}
    )


def _reap(keyspace: Keyspace, topic: Topic, slot: int) -> Operation[None]:
    yield [reap(keyspace, topic, slot)]


def _call(view: MessageView) -> Call:
    try:
        return Call.read(json.loads(view.content))
    except (ValueError, TypeError) as error:
        raise RMQError(f"message {view.row.id!r:.100} is no task: {error}") from None


def _died(attempts: Attempts, failure: FailureRecord | None) -> None:
    """A task whose worker was killed could not tell how it ended: the queue knows it."""
    if failure is None:
        return
    attempts.finished_ms = attempts.finished_ms or failure.last_ms
    if attempts.errors_before + len(attempts.errors) < failure.failures:
        attempts.add("builtins.TimeoutError", f"{failure.error}: {failure.message}\n")
