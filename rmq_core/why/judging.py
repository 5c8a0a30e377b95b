"""The judgement: out of the facts the reasons, what decides first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rmq_core.model.group import Group
from rmq_core.model.views import WorkerInfo
from rmq_core.why.answer import Reason
from rmq_core.why.facts import Facts, SlotFacts

BUSY_MS = 1_000
"""Behind a call that has run for so long what waits is late by it."""
SLOW_MS = 100
CLOCK_MS = 1_000


def of_topic(facts: Facts) -> list[Reason]:
    """Of a topic, or of one slot where the facts are of one."""
    reasons: list[Reason] = []
    reasons += holds(facts)
    reasons += _held(facts)
    reasons += _course(facts)
    if len(facts.slots) > 1 and any(each.code == "falls_behind" for each in reasons):
        # One call keeps its slot waiting, and a hold its key; that more comes in than is done, they do not explain.
        reasons.sort(key=lambda each: each.code in {"busy", "holds_back"})
    reasons += around(facts)
    return reasons or [_calm(facts)]


def holds(facts: Facts) -> list[Reason]:
    """What keeps ready messages from being taken: what holds for the topic, then what holds for its slots."""
    late = [slot for slot in facts.slots if slot.ready or _overdue(facts, slot)]
    reasons = list(_of_topic(facts)) if late else []
    seen = {each.code for each in reasons}
    for slot in sorted(late, key=lambda slot: slot.sample.lag_ms(facts.now_ms), reverse=True):
        for reason in of_slot(facts, slot):
            if reason.code not in seen:
                seen.add(reason.code)
                reasons.append(reason)
    return reasons


def _held(facts: Facts) -> Iterator[Reason]:
    full = [slot.sample for slot in facts.slots if slot.sample.keys_waiting]
    if full:
        values = {"held": sum(each.held for each in full), "keys": sum(each.keys_waiting for each in full)}
        yield Reason("keys_full", values | {"limit": facts.topic.key_concurrency})
    others = [slot.sample for slot in facts.slots if not slot.sample.keys_waiting]
    held = sum(each.held for each in others)
    since = [hold.since_ms for each in others for hold in each.holds]
    if held and since:
        yield Reason("holds_back", {"held": held, "holds": len(since), "for_ms": max(0, facts.now_ms - min(since))})


def _overdue(facts: Facts, slot: SlotFacts) -> bool:
    return slot.oldest is not None and in_flight(facts, slot.oldest.taken_ms)["over_ms"] > 0


def around(facts: Facts) -> Iterator[Reason]:
    """What is slow or wrong for everybody."""
    if facts.answer_ms >= SLOW_MS:
        yield Reason("redis_slow", {"answer_ms": facts.answer_ms})
    if facts.topic.timed and facts.clock_behind_ms >= CLOCK_MS:
        yield Reason("clock", {"for_ms": facts.clock_behind_ms})


def _of_topic(facts: Facts) -> Iterator[Reason]:
    topic, now, ready = facts.topic, facts.now_ms, {"ready": facts.ready}
    until_ms = topic.paused_until_ms if isinstance(topic, Group) else 0
    if topic.paused:
        yield Reason("paused", ready)
    elif until_ms > now:
        yield Reason("paused_until", ready | {"left_ms": until_ms - now, "until_ms": until_ms})
    present = [worker for worker in facts.workers if worker.state != "lost"]
    running = _running(facts)
    if facts.route is not None and facts.route.state != "running":
        yield Reason(f"route_{facts.route.state}", ready | {"route": facts.route.route.name})
    if 0 < topic.concurrency <= facts.in_flight:
        yield Reason("permits_used", ready | {"limit": topic.concurrency, "in_flight": facts.in_flight})
    if not running:
        if facts.route is not None:
            return
        if facts.pace is None or not facts.pace.out_s:  # others may take, too
            yield _nobody(facts, present)
        return
    worker = {"worker": running[0].name}
    drained = [each for each in running if each.session != "shared" and each.name in facts.drained]
    away = [each for each in running if each.session in {"suspended", "lost"}]
    if len(drained) == len(running):
        yield Reason("drained", ready | worker)
    elif len(away) == len(running):
        yield Reason("zookeeper_away", ready | worker | {"for_ms": max(0, now - away[0].session_since_ms)})
    fenced = sum(slot.sample.epoch is not None for slot in facts.slots)
    if fenced and all(each.session == "shared" for each in running):
        yield Reason("needs_owner", ready | {"slots": fenced})
    if facts.permit_in_us > 0:
        left_ms = facts.ready * 1000 // topic.rate_limit
        yield Reason("rate_limited", ready | {"limit": topic.rate_limit, "left_ms": left_ms})
    threads, in_flight = sum(each.threads for each in running), sum(each.in_flight for each in running)
    # What is in flight may be what slots have ahead, each behind a call of its own.
    if in_flight >= threads and not any(each.free for each in running):
        yield Reason("threads_busy", {"in_flight": in_flight, "threads": threads})
    for each in running:
        version = each.versions.get(topic.name, topic.version)
        if version < topic.version:
            yield Reason("old_definition", {"worker": each.name, "version": version, "current": topic.version})
            break


def _running(facts: Facts) -> list[WorkerInfo]:
    return [worker for worker in facts.workers if worker.state == "running"]


def _nobody(facts: Facts, present: list[WorkerInfo]) -> Reason:
    ready = {"ready": facts.ready}
    if present:
        return Reason("stopping", ready | {"worker": present[0].name})
    if facts.workers:
        last = max(facts.workers, key=lambda worker: worker.seen_ms)
        return Reason("worker_lost", ready | {"worker": last.name, "silent_ms": max(0, facts.now_ms - last.seen_ms)})
    return Reason("no_worker", ready)


def of_slot(facts: Facts, slot: SlotFacts) -> Iterator[Reason]:
    """What keeps what is ready in one slot from being taken."""
    at = {"slot": slot.sample.slot}
    if slot.sample.epoch is not None:
        yield from _of_owner(facts, slot, at)
    if slot.suspects:
        yield Reason("suspects", at | {"suspects": slot.suspects})
    if slot.sample.lag is None:
        yield Reason("lag_unknown", at)
    if slot.oldest is not None:
        timing = in_flight(facts, slot.oldest.taken_ms)
        about = at | {"id": slot.oldest.id} | timing
        if timing["over_ms"]:
            yield Reason("overdue", about)
        # Where slots have no owners, as many must be in flight as there are workers, or one of them would take more.
        elif timing["for_ms"] >= BUSY_MS and (slot.sample.epoch or slot.sample.prepare >= len(_running(facts))):
            yield Reason("busy", about)
    if isinstance(facts.topic, Group) and facts.topic.waits and slot.sample.retry:
        next_ms = slot.sample.next_retry_ms or facts.now_ms
        left = {"left_ms": max(0, next_ms - facts.now_ms)}
        yield Reason("behind_failure", at | left | {"retrying": slot.sample.retry})


def _of_owner(facts: Facts, slot: SlotFacts, at: dict[str, Any]) -> Iterator[Reason]:
    name = slot.owner.worker
    if name is None:
        yield Reason("unowned", at)
        return
    about = at | {"worker": name}
    worker = next((each for each in facts.workers if each.name == name), None)
    if worker is None or worker.state == "lost":
        seen_ms = slot.owner.since_ms if worker is None else worker.seen_ms
        yield Reason("owner_lost", about | {"silent_ms": max(0, facts.now_ms - (seen_ms or facts.now_ms))})
    elif worker.session in {"suspended", "lost"}:
        yield Reason("owner_away", about | {"for_ms": max(0, facts.now_ms - worker.session_since_ms)})
    elif worker.state == "stopping":
        yield Reason("owner_stopping", about)
    elif name in facts.drained:
        yield Reason("owner_drained", about)


def in_flight(facts: Facts, taken_ms: int) -> dict[str, int]:
    """How long a delivery has been out, and how much is left of its time, or by how much that is over."""
    timeout_ms = facts.topic.visibility_timeout_ms
    for_ms = max(0, facts.now_ms - taken_ms)
    left_ms = taken_ms + timeout_ms - facts.now_ms
    return {"taken_ms": taken_ms, "for_ms": for_ms, "left_ms": max(0, left_ms), "over_ms": max(0, -left_ms)}


def _course(facts: Facts) -> Iterable[Reason]:
    pace = facts.pace
    if pace is None or not facts.ready or len(facts.slots) < facts.topic.slots:  # of one slot no pace is known
        return
    values = {"in_s": pace.in_s, "out_s": pace.out_s, "ready": facts.ready}
    if pace.in_s > pace.out_s:
        yield Reason("falls_behind", values)
    elif pace.out_s > 0:
        yield Reason("draining", values | {"left_ms": int(facts.ready / pace.out_s * 1000)})


def _calm(facts: Facts) -> Reason:
    if facts.ready:
        return Reason("on_its_way")
    due = [each.sample.next_due_ms for each in facts.slots if each.sample.next_due_ms is not None]
    if due:
        return Reason("due_later", {"due_ms": min(due), "left_ms": max(0, min(due) - facts.now_ms)})
    return Reason("nothing_ready")
