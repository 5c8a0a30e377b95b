"""Repair of findings: a look first, then operations that do it, one per topic."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext

from console.access import ADMINISTERED_REPAIRS, Action, Permission, require
from console.engine import engine
from console.errors import BadRequest
from console.models import AuditEntry, Finding, Operation, Reconciliation
from console.query_parts import in_parts
from console.usecases.actor import Actor
from console.usecases.audit import check_reason, new_entry, refusals
from console.usecases.bulk.bulk_requests import REFS_MAX
from console.usecases.job_queue import enqueue_operation
from console.usecases.runs import engine_repairs
from rmq_core.model.ids import MessageRef
from rmq_core.model.topic import Topic

LOOKED_AT_MOST = 1_000
TOPICS_AT_ONCE = 20


@dataclass(frozen=True)
class RepairRequest:
    """Which findings of a run to repair: all of one repair, narrowed by kind and topic, or one (`finding`). `canary`:
    of each topic so many first, the rest when those ended well, or wait to become due."""

    run: Reconciliation
    repair: str
    kind: str = ""
    topic: str = ""
    finding: int | None = None
    reason: str = ""
    canary: int = 0

    def query(self) -> dict[str, Any]:
        """For the audit."""
        given = {"kind": self.kind, "topic": self.topic, "finding": self.finding, "canary": self.canary}
        return {"run": str(self.run.pk), "repair": self.repair, **{name: each for name, each in given.items() if each}}


@dataclass(frozen=True)
class Forecast:
    """`count` findings; of those looked at, `done` would be repaired now, `not_needed` are well by now, of `unknown`
    nobody knows the content."""

    count: int
    looked_at: int
    outcomes: Counter[str]
    examples: list[Finding]


def preview(actor: Actor, wanted: RepairRequest) -> Forecast:
    """What a repair would do now. Changes nothing. Raises `Forbidden`, `BadRequest`."""
    names = _permit(actor, wanted)
    same = engine_repairs.same_topics(wanted.run, names)
    findings = _findings(wanted)
    count = findings.count()
    some = list(findings[:LOOKED_AT_MOST])
    outcomes: Counter[str] = Counter()
    for topic, refs in _by_topic(some).items():
        if topic in same:
            outcomes += engine_repairs.forecast(topic, wanted.repair, refs, str(wanted.run.pk))
        else:
            outcomes += Counter(not_needed=len(refs))
    return Forecast(count, len(some), outcomes, some[:5])


def start(actor: Actor, wanted: RepairRequest) -> list[Operation]:
    """Start the repair: an operation per topic, recorded in the audit. Raises `Forbidden`, `BadRequest`."""
    entry = new_entry(actor, Action.REPAIR, topic=wanted.topic, query=wanted.query(), reason=wanted.reason)
    with refusals(entry):
        names = _permit(actor, wanted)
        check_reason(wanted.reason, needed=True)
        same = engine_repairs.same_topics(wanted.run, names)
        chosen = _findings(wanted).filter(topic__in=same)
        now = engine().inspector.now_ms()
        with transaction.atomic():
            entry.asked = chosen.count()
            begun = [
                operation
                for name in list(chosen.order_by("topic").values_list("topic", flat=True).distinct())[:TOPICS_AT_ONCE]
                if (operation := _begun(wanted, entry, same[name], chosen.filter(topic=name), now))
            ]
            if not begun:
                raise BadRequest(gettext("No finding is left that this would repair."))
            entry.done = sum(each.total or 0 for each in begun)
            entry.result = AuditEntry.Result.of(entry.done, entry.done == entry.asked)
            entry.detail = {"operations": [str(each.pk) for each in begun]}
            entry.save()
    for each in begun:
        enqueue_operation(str(each.pk))
    return begun


def left(wanted: RepairRequest) -> int:
    """Findings that could be repaired by the same request once more: one is of so many topics, and messages of each."""
    if wanted.finding is not None:
        return 0
    names = set(_findings(wanted).order_by("topic").values_list("topic", flat=True).distinct())
    return _findings(wanted).filter(topic__in=engine_repairs.same_topics(wanted.run, names)).count() if names else 0


def _begun(
    wanted: RepairRequest, entry: AuditEntry, topic: Topic, findings: QuerySet[Finding], now: int
) -> Operation | None:
    """The operation of one topic, with the findings that nobody has begun to repair meanwhile; None: there are none."""
    operation = Operation(
        action=Action.REPAIR.value,
        topic=topic.name,
        values={"repair": wanted.repair, "run": str(wanted.run.pk)},
        **entry.asker(),
        canary=wanted.canary,
        due_ms=now,
        place={"topic_created_ms": topic.created_ms},
    )
    taken: list[Finding] = []
    for some in in_parts(list(findings.values_list("pk", flat=True)[:REFS_MAX])):
        findings.filter(pk__in=some).update(operation=operation.pk)
        taken += Finding.objects.filter(pk__in=some, operation=operation.pk)
    if not taken:
        return None
    refs = _by_topic(taken)[topic.name]
    operation.refs, operation.total = [[ref.slot, ref.id] for ref in refs], len(refs)
    operation.save(force_insert=True)
    return operation


def _permit(actor: Actor, wanted: RepairRequest) -> list[str]:
    """The topics that are concerned. Raises `Forbidden`, `BadRequest`."""
    require(actor.user, Action.REPAIR)
    if wanted.repair in ADMINISTERED_REPAIRS:
        require(actor.user, Permission.ADMINISTER)
    if wanted.repair not in engine_repairs.KINDS:
        raise BadRequest(gettext("There is no repair of that name."))
    if wanted.canary and wanted.repair == "correct_counters":
        raise BadRequest(gettext("A canary is for messages; this repair is of counters."))
    names = list(_findings(wanted).order_by("topic").values_list("topic", flat=True).distinct())
    for name in names or [wanted.topic]:
        require(actor.user, Action.REPAIR, name)
    return names


def _findings(wanted: RepairRequest) -> QuerySet[Finding]:
    found = Finding.objects.filter(run=wanted.run, repair=wanted.repair, slot__isnull=False)
    if wanted.repair != "correct_counters":  # which is of a slot, not of a message
        found = found.exclude(ident="")
    if wanted.topic:
        found = found.filter(topic=wanted.topic)
    if wanted.finding is not None:
        return found.filter(pk=wanted.finding)
    if wanted.kind:
        found = found.filter(kind=wanted.kind)
    return found.filter(operation__isnull=True)


def _by_topic(findings: list[Finding]) -> dict[str, list[MessageRef]]:
    found: dict[str, list[MessageRef]] = {}
    for each in findings:
        assert each.slot is not None
        found.setdefault(each.topic, []).append(MessageRef(each.slot, each.ident))
    return found
