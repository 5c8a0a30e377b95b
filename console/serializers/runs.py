"""Runs, schedules and findings as JSON for pages and the API."""

from __future__ import annotations

from typing import Any

from console.clock import ms_of
from console.models import Finding, PipelineSchedule, Reconciliation
from console.models.pipeline import STAGE_COSTS, WITHOUT
from console.serializers.text import row_etag

TREND_TOPICS = 100
FIGURES = (
    *("topic", "sent", "acked", "retried", "died", "merge_ratio", "slot_skew"),
    *("lateness_p50_ms", "lateness_p95_ms", "lateness_p99_ms"),
    *("end_to_end_p50_ms", "end_to_end_p95_ms", "end_to_end_p99_ms"),
)
ERASED = ("messages", "transitions", "days", "open", "records", "findings", "mentioning", "record_mentions", "left_n")
SECRET = frozenset({"message", "error", "body", "content"})


def run_json(run: Reconciliation, under_way: Reconciliation | None = None) -> dict[str, Any]:
    """A line of the history. `under_way`: the run that others wait for."""
    counts = run.summary.get("counts")
    return {
        "id": str(run.pk),
        "kind": run.kind,
        "topics": _names(run.topics),
        "ledger": run.ledger,
        "dry_run": run.asked.get("dry_run") is True,
        "into": str(run.asked.get("into") or ""),
        "at_ms": at_ms if isinstance(at_ms := run.asked.get("at_ms"), int) else None,
        "from_scratch": run.asked.get("from_scratch") is True,
        "scheduled": run.via == "schedule",
        "reason": run.reason,
        "user": run.username,
        "via": run.via,
        "state": run.state,
        "percent": run.percent,
        "stages": _stages(run.stages),
        "waits_for": _waited_for(under_way) if run.state == "queued" else None,
        "error": run.error,
        "complete": run.complete,
        "findings": run.findings,
        "listed": run.listed,
        "counts": counts if isinstance(counts, dict) else {},
        "without_journal": _names(run.summary.get(WITHOUT)),
        "created_ms": ms_of(run.created),
        "started_ms": ms_of(run.started),
        "finished_ms": ms_of(run.finished),
    }


def detail_json(run: Reconciliation, payload: bool, under_way: Reconciliation | None = None) -> dict[str, Any]:
    """Everything about a run but its findings. Causes of failures are content."""
    tables = [dict(row) for row in run.tables if isinstance(row, dict)]
    if not payload:
        tables = [{**row, "causes": None} for row in tables]
    return run_json(run, under_way) | {
        "gaps": run.summary.get("gaps") or [],
        "changes": run.summary.get("changes"),
        "compared_with": run.summary.get("compared_with"),
        "same_as": run.summary.get("same_as"),
        "restored": run.summary.get("restored"),
        "erased": _erased(run, payload),
        "archived": run.summary.get("archived"),
        "ledger_left_out": _left_out(_inputs(run).get("of_ledger")),
        "read": _read(run.summary.get("read")),
        "tables": tables,
        "waits": waits_json(run),
    }


def _erased(run: Reconciliation, payload: bool) -> dict[str, Any] | None:
    """What an erasure erased, or would."""
    said = run.summary.get("erased")
    if not isinstance(said, dict) or run.live:
        return None
    counts = {name: int(said.get(name) or 0) for name in ERASED}
    left = [{**each, "id": each["id"] if payload else None} for each in said.get("left") or []]
    known = bool(run.asked.get("ids") or run.asked.get("slot_bases"))
    return {**counts, "left": left, "preview": known and run.asked.get("dry_run") is True and run.state == "done"}


def waits_json(run: Reconciliation) -> dict[str, Any] | None:
    """For what a run waits that has not begun: those that were asked for before it, and the one at work."""
    if run.state != Reconciliation.State.QUEUED:
        return None
    live = Reconciliation.objects.filter(state__in=Reconciliation.LIVE).exclude(pk=run.pk)
    ahead = live.filter(state=Reconciliation.State.QUEUED, created__lt=run.created).count()
    working = live.exclude(state=Reconciliation.State.QUEUED).order_by("started").first()
    return {
        "ahead": ahead,
        "running_kind": working.kind if working else None,
        "running_since_ms": ms_of(working.started) if working else None,
    }


def _waited_for(run: Reconciliation | None) -> dict[str, Any] | None:
    """What keeps others waiting, and how far it is."""
    if run is None:
        return None
    stages = _stages(run.stages)
    return {"kind": run.kind, "stage": stages[-1]["name"] if stages else "", "since_ms": ms_of(run.started)}


def _stages(stages: list[Any]) -> list[dict[str, Any]]:
    found = []
    for each in stages:
        match each:
            case [str(name), int(ms), int(done), int(total), *costs]:
                cost = costs[0] if costs and isinstance(costs[0], dict) else {}
                known = {each: cost.get(each) for each in STAGE_COSTS}
                found.append({"name": name, "since_ms": ms, "done": done, "total": total, **known})
    return found


def _names(given: Any) -> list[str]:
    return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []


def _inputs(run: Reconciliation) -> dict[str, Any]:
    """What the report says it compared."""
    inputs = run.summary.get("inputs")
    return inputs if isinstance(inputs, dict) else {}


def _left_out(inputs: Any) -> dict[str, Any] | None:
    """Rows of the ledger that are about other topics than those of the run."""
    match inputs:
        case {"left_out_rows": int(rows), "left_out": dict(topics)} if rows:
            return {"rows": rows, "topics": topics}
    return None


def _read(said: Any) -> dict[str, Any] | None:
    """How many transitions a reconciliation read, how many it knew, and of how many slots it compared the queues; None:
    it does not say."""
    match said:
        case {"events": int(events), "events_known": int(known), "from_scratch": dict(scratch)}:
            return {"events": events, "known": known, "from_scratch": scratch, "slots": _slots(said.get("slots"))}
        case {"events": int(events)}:
            return {"events": events, "known": 0, "from_scratch": {}, "slots": None}
    return None


def _slots(said: Any) -> dict[str, int] | None:
    match said:
        case {"compared": int(compared), "of": int(every)}:
            return {"compared": compared, "of": every}
    return None


def trend_json(run: Reconciliation) -> dict[str, Any]:
    """A run as a point of the charts: its figures by topic."""
    return {
        "id": str(run.pk),
        "at_ms": ms_of(run.finished),
        "findings": run.findings,
        "topics": [
            {name: row.get(name) for name in FIGURES} for row in run.tables[:TREND_TOPICS] if isinstance(row, dict)
        ],
    }


def finding_json(finding: Finding, payload: bool, repaired_by: str | None = None) -> dict[str, Any]:
    """A finding; without its id and the words of failures for those who may not read content. `repaired_by`: the
    operation that was to repair it after an earlier run."""
    evidence = finding.evidence
    if repaired_by:
        evidence = {**evidence, "repaired_by": repaired_by}
    if not payload:
        evidence = {name: value for name, value in evidence.items() if name not in SECRET}
    return {
        "number": finding.pk,
        "kind": finding.kind,
        "topic": finding.topic,
        "slot": finding.slot,
        "id": (finding.ident or None) if payload else None,
        "evidence": evidence,
        "cause": finding.cause,
        "repair": finding.repair,
        "operation": str(finding.operation) if finding.operation else None,
    }


def schedule_json(schedule: PipelineSchedule) -> dict[str, Any]:
    """A schedule."""
    return {
        "id": schedule.pk,
        "kind": schedule.kind,
        "topics": _names(schedule.topics),
        "ledger": schedule.ledger,
        "every_ms": schedule.every_ms,
        "every_s": schedule.every_ms // 1000,
        "enabled": schedule.enabled,
        "next_ms": schedule.next_ms,
        "user": schedule.username,
        "etag": row_etag(schedule.changed),
    }
