"""Operations that are stopped, crash, are overtaken, or lose what they work on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from console.access import Action
from console.errors import BadRequest
from console.jobs import operation_slice as runner
from console.jobs import operations as jobs
from console.jobs.operation_lease import OperationLease
from console.models import AuditEntry, Operation
from console.options import options
from console.serializers.operations import not_done
from console.usecases.bulk import bulk
from tests.console.operations.desk import Desk
from tests.support.console_options import set_options


def test_one_that_waits_is_stopped_at_once_and_goes_on_when_resumed(desk: Desk) -> None:
    desk.delayed(30)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    assert bulk.stop(desk.actor, operation).state == "stopped"
    desk.finish(operation)
    assert (operation.done, desk.count("delayed")) == (0, 30)
    with pytest.raises(BadRequest, match="ended"):
        bulk.stop(desk.actor, operation)
    desk.finish(bulk.resume(desk.actor, operation))
    assert (operation.state, operation.done) == ("done", 30)
    with pytest.raises(BadRequest, match="resumed"):
        bulk.resume(desk.actor, operation)
    actions = list(AuditEntry.objects.order_by("id").values_list("action", "result"))
    assert ("stop_operation", "done") in actions and ("resume_operation", "done") in actions
    assert ("stop_operation", "refused") in actions and ("resume_operation", "refused") in actions


def test_one_at_work_is_stopped_after_the_chunk_it_has_begun(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK", 10)
    desk.delayed(50)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    real = runner.Slice._call

    def and_stop(self: Any, *given: Any) -> Any:
        bulk.stop(desk.actor, Operation.objects.get(pk=operation.pk))
        return real(self, *given)

    monkeypatch.setattr(runner.Slice, "_call", and_stop)
    desk.finish(operation)
    assert (operation.state, operation.done, desk.count("delayed")) == ("stopped", 10, 40)


class Crash(BaseException):
    """Stands for `kill -9`: nothing of ours catches it."""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_in_the_middle_loses_and_doubles_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    monkeypatch.setattr(runner, "CHUNK", 10)
    desk.delayed(35)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    calls = 0
    real = runner.Slice._call

    def crash(self: Any, *given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2 and when == "before":
            raise Crash
        found = real(self, *given)
        if calls == 2:
            raise Crash
        return found

    monkeypatch.setattr(runner.Slice, "_call", crash)
    desk.forget_jobs()
    with pytest.raises(Crash):
        jobs.run(str(operation.pk))
    monkeypatch.setattr(runner.Slice, "_call", real)
    operation.refresh_from_db()
    assert (operation.state, operation.done) == ("running", 10)
    jobs.run(str(operation.pk))
    operation.refresh_from_db()
    assert operation.done == 10, "whoever works on it has not been silent for long enough"
    Operation.objects.update(due_ms=0)  # so that it has
    assert jobs.pick_up(desk.queue.inspector.now_ms()) == 1 and jobs.pick_up(desk.queue.inspector.now_ms()) == 0
    desk.finish(operation)
    assert (operation.state, operation.interruptions, desk.count("delayed")) == ("done", 1, 0)
    if when == "before":
        assert (operation.done, operation.skipped) == (35, 0)
    else:
        assert (operation.done, operation.skipped) == (25, 10)
        assert {each["status"] for each in not_done(operation, True)} == {"interrupted"}
    # All of them can be brought back, those of the interrupted chunk as well.
    assert desk.finish(bulk.undo(desk.actor, operation, "undo")).done == 35
    assert desk.count("delayed") == 35


def test_one_believed_dead_changes_nothing_any_more(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its successor works on; whatever the old one writes is refused."""
    monkeypatch.setattr(runner, "CHUNK", 10)
    desk.delayed(30)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    real = runner.Slice._call
    inside = False

    def overtaken(self: Any, *given: Any) -> Any:
        nonlocal inside
        if not inside:
            inside = True
            Operation.objects.update(due_ms=0)
            jobs.run(str(operation.pk))
        return real(self, *given)

    monkeypatch.setattr(runner.Slice, "_call", overtaken)
    jobs.run(str(operation.pk))
    operation.refresh_from_db()
    assert (operation.state, operation.done, operation.skipped) == ("done", 30, 0)
    assert operation.interruptions == 1


def test_a_topic_deleted_meanwhile_fails_the_operation_in_words(desk: Desk) -> None:
    desk.delayed(3)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    desk.queue.control.delete_topic("orders", force=True)
    desk.finish(operation)
    assert operation.state == "failed"
    assert operation.error == "The topic was deleted."
    assert AuditEntry.objects.get().result == "failed"


def test_messages_of_a_topic_that_was_made_anew_are_others(desk: Desk) -> None:
    desk.delayed(3)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    topic = desk.queue.client.topic("orders")
    desk.queue.control.delete_topic("orders", force=True)
    desk.queue.client.define(replace(topic, version=0, created_ms=0))
    desk.delayed(3)
    desk.finish(operation)
    assert (operation.state, operation.done) == ("failed", 0)
    assert operation.error == "The topic was deleted and defined again: its messages are others now."
    assert desk.count("delayed") == 3


@pytest.mark.parametrize("again", [False, True])
def test_one_whose_topic_goes_in_the_middle_of_a_slice_is_not_done(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """This process still knows the topic as it was; all it sees is that no more messages come."""
    monkeypatch.setattr(runner, "CHUNK", 10)
    desk.delayed(30)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    topic = desk.queue.client.topic("orders")
    real = runner.Slice._act

    def then_deleted(self: Any, *given: Any) -> None:
        real(self, *given)
        if self.operation.done == 10:
            self._source.close()  # what it had read ahead
            self._source = runner.source_of(self.operation)
            desk.queue.control.delete_topic("orders", force=True)
            if again:
                desk.queue.client.define(replace(topic, version=0, created_ms=0))

    monkeypatch.setattr(runner.Slice, "_act", then_deleted)
    desk.finish(operation)
    assert (operation.state, operation.done) == ("failed", 10)


def test_redis_away_is_waited_for(desk: Desk, settings: Any) -> None:
    desk.delayed(3)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    held = OperationLease.take(str(operation.pk), "somebody", desk.queue.inspector.now_ms())
    assert held is not None
    good = options().redis_url
    set_options(settings, REDIS_URL="redis://127.0.0.1:1/0")
    runner.Slice(held, runner.Jobs(lambda: False, lambda _: None), lambda: 0).run()
    set_options(settings, REDIS_URL=good)
    operation.refresh_from_db()
    assert (operation.state, operation.runner) == ("running", "")
    assert "did not answer" in operation.error
    Operation.objects.update(due_ms=0)
    jobs.pick_up(desk.queue.inspector.now_ms())
    desk.finish(operation)
    assert (operation.state, operation.done, operation.error) == ("done", 3, "")
