"""Works on an operation, a slice of a few seconds at a time, so that several share the job worker.

A slice ends when its time is up, when others wait and there is nothing to do but wait, or when there is nothing to do
for seconds. What it has begun is recorded before it is done, so that whoever comes after a crash knows about it;
all actions are harmless to repeat, for they go by id and by the queue a message is in.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from console.access import Action
from console.clock import now_ms
from console.engine import engine
from console.jobs.operation_lease import LeaseLost, OperationLease
from console.jobs.operation_parts import Removed, packed, spans, unpacked
from console.jobs.operation_sources import Taken, source_of
from console.models import Operation
from console.usecases.bulk.bulk_requests import TAKING_OUT
from console.usecases.bulk.canary import Canary
from console.usecases.runs.engine_repairs import repair_messages
from rmq_core.errors import ConnectionLost, RMQError, UnknownTopic
from rmq_core.model.ids import MessageRef
from rmq_core.ops.actions import ActionResult, Removal, remove

log = logging.getLogger("console.operations")

SLICE_S = 5.0
CHUNK = 5_000
BATCH = 5_000
"""Addresses in one call of the engine, which hands at most 1,000 of one slot to a script."""
STEP_MS = 250
"""The pace of slow operations, and of looking whether to stop while there is nothing to do."""
CATCH_UP_MS = 1_000
PARK_MS = 3_000
"""Whoever has to wait longer than this does not keep the job worker waiting."""
AWAY_MS = 2_000

State = Operation.State
SKIPPED = "not_found"
LEFT = frozenset({"expires_first", "gone"})
INTERRUPTED = "interrupted"
"""Gone when it was looked for a second time: done just before a worker ended, or gone by itself."""


@dataclass(frozen=True)
class Jobs:
    """What a slice needs of the queue of jobs. `busy()`: whether others wait; `again(id)`: be called once more."""

    busy: Callable[[], bool]
    again: Callable[[str], None]


class _Did(NamedTuple):
    """What became of some messages: those not done, with the reason; and what can be undone (see `operation_parts`)."""

    undone: list[tuple[int, str, str]]
    taken_out: str

    def moved_on(self, refs: list[MessageRef]) -> list[MessageRef]:
        """Without those that were left dead, which would look as if they had died again."""
        left = {MessageRef(slot, ident) for slot, ident, status in self.undone if status in LEFT}
        return [ref for ref in refs if ref not in left]


class _TopicRecreated(Exception):
    """The topic was deleted, and defined again under its name."""


class Slice:
    """One turn at an operation, whose lease this process has."""

    def __init__(self, lease: OperationLease, jobs: Jobs, now_ms: Callable[[], int]) -> None:
        self.lease = lease
        self.operation = operation = lease.operation
        self._jobs = jobs
        self._now_ms = now_ms
        self._ends_at = time.monotonic() + SLICE_S
        self._patient_until = time.monotonic() + 2 * STEP_MS / 1000
        self._source = source_of(operation)
        repairs = operation.action == Action.REPAIR
        self._canary = Canary(operation.canary, operation.place.setdefault("canary", {}), repairs)
        self._each_ms = _pace_ms(operation)

    def run(self) -> None:
        """Work until the slice is over. Only a database that does not answer raises; then others take over later."""
        try:
            # A topic may have been deleted, or redefined, since this process last read it.
            engine().client.forget(self.operation.topic)
            self._check_topic()
            self._repeat_interrupted()
            while self._step():
                pass
        except LeaseLost:
            log.warning("operation %s was taken over by somebody else", self.operation.pk)
        except ConnectionLost as error:
            self.operation.error = str(error)
            self.lease.release(now_ms() + AWAY_MS)
        except UnknownTopic:
            self.lease.end(State.FAILED, "The topic was deleted.")
        except _TopicRecreated:
            self.lease.end(State.FAILED, "The topic was deleted and defined again: its messages are others now.")
        except RMQError as error:
            self.lease.end(State.FAILED, f"{type(error).__name__}: {error}")
        finally:
            self._source.close()

    def _step(self) -> bool:
        """A chunk of work or a moment of waiting; False when the slice is over."""
        if self.lease.asked_to_stop():
            self.lease.end(State.STOPPED)
            return False
        now = self._now_ms()
        wait_ms = self._to_wait(now)
        if wait_ms is None:
            return False
        if wait_ms:
            return self._wait(wait_ms, now)
        self._check_topic()
        taken = self._source.take(self._most())
        self.operation.looked_at = taken.looked_at
        self.operation.error = ""
        if taken.refs:
            self._act(taken)
        else:
            self.operation.cursor = taken.cursor
            if taken.ended:
                # Nothing may be left because the topic has gone, which this process may not know yet.
                engine().client.forget(self.operation.topic)
                self._check_topic()
                self.lease.end(State.DONE)
                return False
            self.lease.save(self._now_ms())
        return time.monotonic() < self._ends_at or self._leave(self._now_ms())

    def _check_topic(self) -> None:
        """Raises `UnknownTopic`, or `_TopicRecreated` where the messages that were meant are gone with their topic."""
        topic = engine().client.topic(self.operation.topic)
        if self.operation.place.get("topic_created_ms", topic.created_ms) != topic.created_ms:
            raise _TopicRecreated

    # -- pace

    def _to_wait(self, now: int) -> int | None:
        """Milliseconds until there may be something to do; None: the canary has ended the operation."""
        if self._canary.phase == "watching":
            problem = self._canary.look(self.operation.topic, now)
            if problem is not None:
                self.lease.end(State.STOPPED, problem)
                return None
            if self._canary.phase == "watching":
                since = now - int(self.operation.place["canary"]["sent_ms"])
                return min(max(STEP_MS, since // 10), 2 * PARK_MS)
        return max(0, int(self.operation.place.get("next_ms", 0)) - now)

    def _wait(self, wait_ms: int, now: int) -> bool:
        if wait_ms > PARK_MS:
            self.lease.release(now + wait_ms)
            return False
        at = time.monotonic()
        if at >= self._ends_at or (at >= self._patient_until and self._jobs.busy()):
            return self._leave(now)
        time.sleep(min(wait_ms, STEP_MS) / 1000)
        self.lease.save(self._now_ms())
        return True

    def _leave(self, now: int) -> bool:
        """Queue again, behind whoever waits."""
        self.lease.release(now)
        self._jobs.again(str(self.operation.pk))
        return False

    def _most(self) -> int:
        by_pace = max(1, int(STEP_MS / self._each_ms)) if self._each_ms else CHUNK
        return self._canary.most(min(CHUNK, by_pace))

    # -- work

    def _act(self, taken: Taken) -> None:
        refs, began_ms = taken.refs, self._now_ms()
        self.operation.place["part_began_ms"] = began_ms
        part = self.lease.begin_part(packed(refs, taken.removed), began_ms)
        did = self._do(refs, taken.removed, began_ms, gone=SKIPPED)
        self.operation.cursor = taken.cursor
        now = self._now_ms()
        self._canary.sent(did.moved_on(refs), now)
        if self._each_ms:
            place = self.operation.place
            planned = max(place.get("next_ms", now), now - CATCH_UP_MS)
            place["next_ms"] = round(planned + len(refs) * self._each_ms)
        self.lease.end_part(part, did.taken_out, did.undone, now)

    def _repeat_interrupted(self) -> None:
        part = self.lease.interrupted_part()
        if part is None:
            return
        refs, removed = unpacked(part.refs)
        did = self._do(refs, removed, int(self.operation.place.get("part_began_ms", 0)), gone=INTERRUPTED)
        now = self._now_ms()
        self._canary.sent(did.moved_on(refs), now)
        self.lease.end_part(part, did.taken_out, did.undone, now)

    def _do(self, refs: list[MessageRef], removed: Removed, began_ms: int, gone: str) -> _Did:
        """Act on messages and count. What is not there may be what this took out, whose answer was lost since then."""
        undone: list[tuple[int, str, str]] = []
        out: dict[MessageRef, tuple[int, int]] = {}
        for at in range(0, len(refs), BATCH):
            for ref, status, at_ms in self._call(refs[at : at + BATCH], removed):
                if status == "done":
                    self.operation.done += 1
                elif status == "not_found":
                    self.operation.skipped += 1
                    undone.append((ref.slot, ref.id, gone))
                elif status in ("replaced", "moved"):
                    self.operation.skipped += 1
                    undone.append((ref.slot, ref.id, status))
                else:
                    self.operation.failed += 1
                    undone.append((ref.slot, ref.id, status))
                if at_ms and status in ("done", "not_found"):
                    out[ref] = (at_ms if status == "done" else began_ms, at_ms)
        return _Did(undone, packed(out, out))

    def _call(self, refs: list[MessageRef], removed: Removed) -> list[Removal]:
        operation = self.operation
        if operation.action in TAKING_OUT:
            client = engine().client
            name = Action(operation.action).value
            return client.run(client.on_topic(remove, operation.topic, name, refs, _first(refs, removed)))
        return [Removal(ref, status, 0) for ref, status in self._change(refs, removed)]

    def _change(self, refs: list[MessageRef], removed: Removed) -> list[ActionResult]:
        control, operation = engine().control, self.operation
        if operation.action == Action.RESTORE:
            return [
                result
                for span, some in spans(refs, removed).items()
                for result in control.restore(operation.topic, some, removed_ms=span)
            ]
        if operation.action == Action.RESCHEDULE:
            return control.reschedule(operation.topic, refs, **operation.values, places=_first(refs, removed))
        if operation.action == Action.REPAIR:
            values = operation.values
            return repair_messages(operation.topic, str(values.get("repair")), refs, str(values.get("run") or ""))
        if operation.action == Action.REQUEUE:
            return control.requeue(operation.topic, refs, died_ms=_first(refs, removed))
        if operation.action == Action.RUN_NOW:
            return control.run_now(operation.topic, refs, places=_first(refs, removed))
        found: list[ActionResult] = getattr(control, Action(operation.action).value)(operation.topic, refs)
        return found


def _first(refs: list[MessageRef], removed: Removed) -> dict[MessageRef, int]:
    return {ref: removed[ref][0] for ref in refs if ref in removed}


def _pace_ms(operation: Operation) -> float:
    """Milliseconds for each message; 0: as fast as it goes."""
    by_rate = 1000 / operation.rate_per_s if operation.rate_per_s else 0.0
    by_spread = operation.spread_ms / operation.total if operation.spread_ms and operation.total else 0.0
    return max(by_rate, by_spread)
