"""Enqueueing and finding again: what the suites of `django-tasks-db` and `django-tasks-rq` ask of it, by name."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import SuspiciousOperation

from rmq_core import PriorityMessage
from tests.tasks.conftest import Bench


@pytest.mark.parametrize("name", ["noop", "noop_async"])
def test_enqueue_task(bench: Bench, name: str) -> None:
    task = getattr(bench.tasks, name)
    result = task.enqueue(1, two=3)
    assert (result.status, result.is_finished) == ("READY", False)
    assert (result.started_at, result.last_attempted_at, result.finished_at) == (None, None, None)
    with pytest.raises(ValueError, match="Task has not finished yet"):
        result.return_value  # noqa: B018
    assert (result.task, result.args, result.kwargs, result.attempts) == (task, [1], {"two": 3}, 0)
    assert len(result.id) <= 64


def test_enqueue_task_async(bench: Bench) -> None:
    result = async_to_sync(bench.tasks.noop_async.aenqueue)(1)
    assert (result.status, result.args, result.kwargs) == ("READY", [1], {})
    assert bench.backend.get_result(result.id) == result


def test_get_result(bench: Bench) -> None:
    result = bench.backend.enqueue(bench.tasks.noop, [], {})
    assert bench.backend.get_result(result.id) == result
    assert bench.tasks.noop.get_result(result.id) == result


def test_get_result_async(bench: Bench) -> None:
    result = async_to_sync(bench.backend.aenqueue)(bench.tasks.noop, [], {})
    assert async_to_sync(bench.backend.aget_result)(result.id) == result


def test_refresh_result(bench: Bench) -> None:
    result = bench.backend.enqueue(bench.tasks.answer, (), {})
    bench.run()
    assert (result.status, result.started_at, result.attempts) == ("READY", None, 0)
    result.refresh()
    assert (result.status, result.return_value, result.attempts, result.is_finished) == ("SUCCESSFUL", 42, 1, True)
    assert result.enqueued_at <= result.started_at <= result.last_attempted_at <= result.finished_at


def test_refresh_result_async(bench: Bench) -> None:
    result = async_to_sync(bench.backend.aenqueue)(bench.tasks.answer_async, (), {})
    bench.run()
    async_to_sync(result.arefresh)()
    assert (result.status, result.return_value, result.worker_ids) == ("SUCCESSFUL", 42, ["ann"])


@pytest.mark.parametrize("ident", ["missing", "ad62f68b-bf03-4c17-ab27-8f7d3f9e333b", "123", "%zz", "\ud800"])
def test_get_missing_result(bench: Bench, ident: str) -> None:
    bench.tasks.noop.enqueue()
    for look in (bench.backend.get_result, async_to_sync(bench.backend.aget_result)):
        with pytest.raises(bench.framework.DoesNotExist):
            look(ident)


def test_get_result_of_another_task(bench: Bench) -> None:
    result = bench.tasks.noop.enqueue()
    with pytest.raises(Exception, match="Task does not match"):
        bench.tasks.answer.get_result(result.id)


@pytest.mark.parametrize(("path", "error"), [("subprocess.run", SuspiciousOperation), ("no.such.task", ImportError)])
def test_invalid_task_path(bench: Bench, path: str, error: type[Exception]) -> None:
    """What was put into the queue by somebody else runs nothing."""
    result = bench.tasks.noop.enqueue()
    content = json.loads(bench.queue.inspector.find("tasks.default", result.id)[0].content) | {"task": path}
    bench.rmq.send("tasks.default", PriorityMessage(json.dumps(content), 1_000, key="evil"))
    with pytest.raises(error):
        bench.backend.get_result("evil")
    assert bench.run() == (1, 1)
    assert bench.ids("tasks.default", "dead") == ["evil"]


@pytest.mark.parametrize("content", ["[]", "{}", "x", '{"task": 1, "args": [], "kwargs": {}}'])
def test_a_message_that_is_no_task(bench: Bench, content: str) -> None:
    """A dead letter with a reason; nobody else is held up."""
    bench.tasks.noop.enqueue()
    bench.rmq.send("tasks.default", PriorityMessage(content, 2_000, key="odd"))
    assert bench.run() == (1, 1)
    (row,) = bench.queue.inspector.messages("tasks.default", "dead").rows
    assert (row.id, "this is no task" in (row.error or "")) == ("odd", True)


def test_what_a_newer_release_says_is_left_out(bench: Bench) -> None:
    result = bench.tasks.answer.enqueue()
    content = json.loads(bench.queue.inspector.find("tasks.default", result.id)[0].content) | {"newer": 1}
    bench.rmq.send("tasks.default", PriorityMessage(json.dumps(content), 1_000, key=result.id))
    assert bench.run() == (1, 0)
    result.refresh()
    assert result.return_value == 42


def test_check(bench: Bench) -> None:
    assert list(bench.backend.check()) == []


def test_app_missing(bench: Bench, settings: Any) -> None:
    settings.INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes"]
    (error,) = bench.backend.check()
    assert "console.tasks" in error.hint


def test_queues_that_cannot_be_topics_are_named(bench: Bench) -> None:
    bench.configure(["fine", "a queue"])
    (error,) = bench.backend.check()
    assert "'a queue' cannot be a topic" in error.msg


def test_database_without_an_outbox_is_named(bench: Bench, settings: Any) -> None:
    settings.INSTALLED_APPS = [each for each in settings.INSTALLED_APPS if "outbox" not in each]
    bench.configure(DATABASE="default")
    (error,) = bench.backend.check()
    assert "console.outbox" in error.hint


@pytest.mark.parametrize("priority", [-101, 101, 1.5])
def test_priority_range_check(bench: Bench, priority: Any) -> None:
    with pytest.raises(bench.framework.InvalidTask, match="priority must be a whole number"):
        bench.tasks.noop.using(priority=priority)
    assert bench.tasks.noop.using(priority=100).enqueue().task.priority == 100


def test_validate_on_enqueue(bench: Bench) -> None:
    bench.configure(["default", "unknown"])
    task = bench.tasks.noop.using(queue_name="unknown")
    bench.configure(["default"])
    for enqueue in (task.enqueue, async_to_sync(task.aenqueue)):
        with pytest.raises(bench.framework.InvalidTask, match="Queue 'unknown' is not valid for backend"):
            enqueue()


def test_any_queue(bench: Bench) -> None:
    bench.configure([])
    result = bench.tasks.noop.using(queue_name="made-up").enqueue()
    assert bench.backend.get_result(result.id).task.queue_name == "made-up"
    with pytest.raises(bench.framework.InvalidTask, match="cannot be a topic"):
        bench.tasks.noop.using(queue_name="a queue").enqueue()


def test_queue_isolation(bench: Bench) -> None:
    one = bench.tasks.noop.enqueue()
    other = bench.tasks.noop.using(queue_name="queue-1").enqueue()
    assert (bench.ids("tasks.default"), bench.ids("tasks.queue-1")) == ([one.id], [other.id])
    assert {bench.backend.get_result(each.id).task.queue_name for each in (one, other)} == {"default", "queue-1"}
    bench.run("queue-1")
    one.refresh()
    other.refresh()
    assert (one.status, other.status) == ("READY", "SUCCESSFUL")


def test_run_after_tz(bench: Bench) -> None:
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    result = bench.tasks.noop.using(run_after=at).enqueue(1)
    assert bench.run() == (0, 0)
    found = bench.backend.get_result(result.id)
    assert (found.status, found.task.run_after, found.args) == ("READY", at, [1])
    assert bench.ids("tasks-later.default", "delayed") == [result.id]
    with pytest.raises(bench.framework.InvalidTask, match="aware"):
        bench.tasks.noop.using(run_after=datetime(2030, 1, 1))


def test_run_after_naive(bench: Bench, settings: Any) -> None:
    settings.USE_TZ = False
    at = datetime(2040, 1, 1, 12, 30)
    result = bench.tasks.noop.using(run_after=at).enqueue()
    found = bench.backend.get_result(result.id)
    assert found.task.run_after == at and found.enqueued_at == result.enqueued_at


def test_enqueue_logs(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", bench.package):
        result = bench.tasks.noop.enqueue()
    (record,) = [each for each in caplog.records if each.name.startswith(bench.package)]
    assert "enqueued" in record.getMessage() and result.id in record.getMessage()


def test_arguments_are_read_in_the_console(bench: Bench) -> None:
    result = bench.tasks.noop.enqueue("é", order={"n": 2**60})
    (view,) = bench.queue.inspector.find("tasks.default", result.id)
    content = json.loads(view.content)
    assert (content["args"], content["kwargs"]) == (["é"], {"order": {"n": 2**60}})
    assert content["task"].endswith(".noop") and "é" in view.content.decode()


@pytest.mark.parametrize("argument", [object(), {1, 2}, b"\xff", datetime.now(UTC)])
def test_arguments_that_are_not_json(bench: Bench, argument: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        bench.tasks.noop.enqueue(argument)
    with pytest.raises(ValueError, match="at most 131,072 bytes"):
        bench.tasks.noop.enqueue("x" * 200_000)


def test_a_cancelled_task_is_no_longer_found(bench: Bench) -> None:
    result = bench.tasks.noop.enqueue()
    bench.queue.control.cancel("tasks.default", result.id)
    with pytest.raises(bench.framework.DoesNotExist):
        result.refresh()


def test_a_deleted_topic_is_made_again(bench: Bench) -> None:
    bench.tasks.noop.enqueue()
    bench.queue.control.delete_topic("tasks.default", force=True)
    bench.rmq.forget("tasks.default")
    bench.backend.client.forget("tasks.default")
    result = bench.tasks.noop.enqueue()
    assert bench.ids("tasks.default") == [result.id]
