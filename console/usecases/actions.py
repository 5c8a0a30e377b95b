"""Actions on topics and on a handful of messages: permission, limits, audit, then the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext

from console.access import Action, require
from console.engine import engine
from console.errors import BadRequest, UnknownWorker
from console.usecases.acknowledging import acknowledge
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from console.usecases.definitions import revisions as topic_history
from console.usecases.entries import check_reschedulable
from rmq_core.figures import digits
from rmq_core.model.ids import MessageRef
from rmq_core.model.text import NotText, check_name
from rmq_core.model.topic import Topic
from rmq_core.ops.actions import ActionResult
from rmq_core.queries.owners import to_ranges

MESSAGES_MAX = 500
REASON_NEEDED = frozenset({Action.CANCEL, Action.REQUEUE, Action.DROP, Action.DRAIN, Action.UNFENCE})
DETAILS_KEPT = 200


@dataclass(frozen=True)
class ActionRequest:
    """One action as asked for. `due_ms` (epoch ms) or `priority` only to reschedule; `worker` and `slots` only for
    actions on the fleet, where `topic` may be empty; `until_ms` (epoch ms) to acknowledge, and to pause a group.
    `seen`: when those died, or were taken out, or where those wait, that are meant, where it was seen."""

    action: Action
    topic: str
    refs: Sequence[MessageRef] = ()
    reason: str = ""
    due_ms: int | None = None
    priority: int | None = None
    worker: str = ""
    slots: Sequence[int] = ()
    until_ms: int | None = None
    seen: Mapping[MessageRef, float] = field(default_factory=dict)
    by: str = ""
    """Who asks; `perform` fills it in."""

    def query(self) -> dict[str, Any]:
        """For the audit: what was asked for, exactly."""
        asked: dict[str, Any] = {}
        if self.refs:
            asked["messages"] = [[ref.slot, ref.id] for ref in self.refs]
        for name in ("due_ms", "priority", "until_ms"):
            if getattr(self, name) is not None:
                asked[name] = getattr(self, name)
        if self.worker:
            asked["worker"] = self.worker
        if self.slots:
            asked["slots"] = to_ranges(self.slots)
        return asked


@dataclass(frozen=True)
class Outcome:
    """What came of it. `statuses`: one per message asked for: done, in_flight or not_found. `stored`: the version of a
    definition it has made."""

    asked: int
    done: int
    statuses: list[tuple[MessageRef, str]] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    stored: Topic | None = None


def perform(actor: Actor, wanted: ActionRequest) -> Outcome:
    """Do what is asked for and write it down, whatever becomes of it.

    Raises `Forbidden`, `BadRequest` and the engine's errors. The audit entry is written first, so that an action
    that was cut off in the middle is seen as started and never finished.
    """
    with audited(
        actor,
        wanted.action,
        topic=wanted.topic,
        query=wanted.query(),
        reason=wanted.reason,
        asked=max(1, len(wanted.refs), len(wanted.slots)),
    ) as entry:
        require(actor.user, wanted.action, wanted.topic)
        _check(wanted)
        outcome = _RUN[wanted.action](replace(wanted, by=entry.username))
        if outcome.stored is not None:
            topic_history.record(outcome.stored, topic_history.Change.EDITED, actor, wanted.reason)
        entry.done, entry.detail = outcome.done, _detail(outcome)
        entry.result = entry.Result.of(outcome.done, outcome.done == outcome.asked)
    return outcome


def _check(wanted: ActionRequest) -> None:
    if wanted.action is Action.PAUSE and wanted.until_ms is not None:
        _check_until(wanted.until_ms)
    if wanted.action is Action.RESCHEDULE:
        check_reschedulable(engine().client.topic(wanted.topic))
    if wanted.action in _ON_MESSAGES:
        if not wanted.refs:
            raise BadRequest(gettext("Name at least one message."))
        if len(wanted.refs) > MESSAGES_MAX:
            raise BadRequest(
                gettext("At most %(most)s messages at once, not %(count)s.")
                % {"most": digits(MESSAGES_MAX), "count": digits(len(wanted.refs))}
            )
    if wanted.action in _ON_WORKERS | {Action.PIN} and not wanted.worker:
        raise BadRequest(gettext("Name the worker."))
    if wanted.action in _ON_SLOTS and not (wanted.topic and wanted.slots):
        raise BadRequest(gettext("Name the topic and its slots, such as 0-7,12."))
    check_reason(wanted.reason, wanted.action in REASON_NEEDED)
    if wanted.slots:
        _check_slots(wanted)
    if wanted.worker:
        _check_worker(wanted)


def _check_until(until_ms: int) -> None:
    if until_ms <= engine().inspector.now_ms():
        raise BadRequest(gettext("That time has gone by already; choose a later one."))


def _check_slots(wanted: ActionRequest) -> None:
    last = engine().client.topic(wanted.topic).slots - 1
    outside = [slot for slot in wanted.slots if not 0 <= slot <= last]
    if outside:
        raise BadRequest(
            gettext("Slot %(slot)d is not one of this topic: they go from 0 to %(last)s.")
            % {"slot": outside[0], "last": digits(last)}
        )


def _check_worker(wanted: ActionRequest) -> None:
    """Somebody seen lately; one that is gone may still be let work again when it comes back."""
    try:
        check_name(wanted.worker)
    except NotText as error:
        raise BadRequest(gettext("The worker's name %(problem)s.") % {"problem": error}) from None
    known = {worker.name for worker in engine().inspector.workers()}
    if wanted.action is Action.UNDRAIN:
        known |= engine().inspector.placement_overrides().drained
    if wanted.worker not in known:
        raise UnknownWorker(
            gettext("No worker “%(name)s” was seen lately; see the list of workers.") % {"name": wanted.worker}
        )


def _detail(outcome: Outcome) -> dict[str, Any]:
    counts = Counter(status for _, status in outcome.statuses)
    not_done = [[ref.slot, ref.id, status] for ref, status in outcome.statuses if status != "done"]
    return {**outcome.values, "counts": dict(counts), "not_done": not_done[:DETAILS_KEPT]}


def _on_messages(name: str) -> Callable[[ActionRequest], Outcome]:
    def run(wanted: ActionRequest) -> Outcome:
        results: list[ActionResult] = getattr(engine().control, name)(wanted.topic, wanted.refs, places=wanted.seen)
        return _outcome(results)

    return run


def _on_dead_letters(name: str) -> Callable[[ActionRequest], Outcome]:
    def run(wanted: ActionRequest) -> Outcome:
        return _outcome(getattr(engine().control, name)(wanted.topic, wanted.refs, died_ms=wanted.seen))

    return run


def _restore(wanted: ActionRequest) -> Outcome:
    spans: dict[float | None, list[MessageRef]] = {}
    for ref in wanted.refs:
        spans.setdefault(wanted.seen.get(ref), []).append(ref)
    results: list[ActionResult] = []
    for at_ms, refs in spans.items():
        span = None if at_ms is None else (int(at_ms), int(at_ms))
        results += engine().control.restore(wanted.topic, refs, removed_ms=span)
    return _outcome(results)


def _reschedule(wanted: ActionRequest) -> Outcome:
    value = {"due_ms": wanted.due_ms, "priority": wanted.priority}
    return _outcome(engine().control.reschedule(wanted.topic, wanted.refs, **value, places=wanted.seen))


def _outcome(results: Sequence[ActionResult]) -> Outcome:
    statuses: list[tuple[MessageRef, str]] = [(result.ref, result.status) for result in results]
    return Outcome(len(results), sum(status == "done" for _, status in statuses), statuses)


def _pause(wanted: ActionRequest) -> Outcome:
    return _redefine(wanted.topic, lambda name: engine().control.pause(name, wanted.until_ms))


def _resume(wanted: ActionRequest) -> Outcome:
    return _redefine(wanted.topic, engine().control.resume)


def _acknowledge(wanted: ActionRequest) -> Outcome:
    made = acknowledge(wanted.topic, wanted.until_ms, wanted.by, wanted.reason)
    return Outcome(1, 1, values={"acknowledged": made})


def _redefine(name: str, change: Callable[[str], Topic]) -> Outcome:
    engine().client.forget(name)
    before = engine().client.topic(name)
    if before.is_group:  # the history is that of topics; what is done to groups is in the audit
        return Outcome(1, 1, values={"version": change(name).version})
    topic_history.note(before)
    after = change(name)
    return Outcome(1, 1, values={"version": after.version}, stored=None if after == before else after)


def _drain(wanted: ActionRequest) -> Outcome:
    return Outcome(1, 1, values={"changed": engine().control.drain(wanted.worker)})


def _undrain(wanted: ActionRequest) -> Outcome:
    return Outcome(1, 1, values={"changed": engine().control.undrain(wanted.worker)})


def _pin(wanted: ActionRequest) -> Outcome:
    changed = sum(engine().control.pin(wanted.topic, slot, wanted.worker) for slot in wanted.slots)
    return Outcome(len(wanted.slots), len(wanted.slots), values={"changed": changed})


def _unpin(wanted: ActionRequest) -> Outcome:
    changed = sum(engine().control.unpin(wanted.topic, slot) for slot in wanted.slots)
    return Outcome(len(wanted.slots), len(wanted.slots), values={"changed": changed})


def _unfence(wanted: ActionRequest) -> Outcome:
    """Refused while somebody still works as an owner: its epoch would be worth nothing any more."""
    if owners := [worker.name for worker in engine().inspector.workers() if worker.owns_slots_of(wanted.topic)]:
        raise BadRequest(
            gettext("“%(worker)s” still owns slots of this topic: stop such workers first.") % {"worker": owners[0]}
        )
    return Outcome(1, 1, values={"slots": engine().control.unfence(wanted.topic)})


_RUN: dict[Action, Callable[[ActionRequest], Outcome]] = {
    Action.CANCEL: _on_messages("cancel"),
    Action.RUN_NOW: _on_messages("run_now"),
    Action.REQUEUE: _on_dead_letters("requeue"),
    Action.DROP: _on_dead_letters("drop"),
    Action.RESTORE: _restore,
    Action.RESCHEDULE: _reschedule,
    Action.ACKNOWLEDGE: _acknowledge,
    Action.PAUSE: _pause,
    Action.RESUME: _resume,
    Action.DRAIN: _drain,
    Action.UNDRAIN: _undrain,
    Action.PIN: _pin,
    Action.UNPIN: _unpin,
    Action.UNFENCE: _unfence,
}
PERFORMED = frozenset(_RUN)
"""What `perform` can do; other actions have places of their own."""
_ON_WORKERS = frozenset({Action.DRAIN, Action.UNDRAIN})
_ON_SLOTS = frozenset({Action.PIN, Action.UNPIN})
_ON_TOPICS = frozenset({Action.PAUSE, Action.RESUME, Action.ACKNOWLEDGE, Action.UNFENCE})
_ON_MESSAGES = frozenset(_RUN) - _ON_TOPICS - _ON_WORKERS - _ON_SLOTS
