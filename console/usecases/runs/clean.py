"""Since when each topic is clean: from which reconciliation on none has found anything of it, or lacked anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Count

from console.access import User, in_scope
from console.clock import ms_of
from console.models import Finding, Reconciliation
from console.query_parts import in_parts

RUNS_MOST = 500
"""So far back it is looked."""


def clean_topics(user: User) -> list[dict[str, Any]]:
    """A row for each topic that a finished reconciliation was about: `clean_since_ms`, when the first of the runs ended
    from which on all are clean; None: the last one is not."""
    done = Reconciliation.objects.filter(kind="reconcile", state="done", finished__isnull=False)
    runs = list(done.only("id", "finished", "summary", "topics", "findings", "listed").order_by("-created")[:RUNS_MOST])
    found = _findings(runs)
    rows: dict[str, dict[str, Any]] = {}
    ended = set[str]()
    for run in runs:
        at_ms, gaps = ms_of(run.finished), _gaps(run)
        for topic in _topics(run):
            n, lacking = found.get((run.pk, topic), 0), topic in gaps
            row = rows.setdefault(
                topic,
                {
                    **{"topic": topic, "clean_since_ms": None, "at_ms": at_ms, "run": str(run.pk)},
                    **{"findings": n, "complete": not lacking},
                },
            )
            if n or lacking or run.findings > run.listed:
                ended.add(topic)
            elif topic not in ended:
                row["clean_since_ms"] = at_ms
    return [rows[name] for name in sorted(rows) if in_scope(user, name.partition("@")[0])]


def _findings(runs: list[Reconciliation]) -> dict[tuple[Any, str], int]:
    counts: dict[tuple[Any, str], int] = {}
    for some in in_parts([run.pk for run in runs if run.findings]):
        rows = Finding.objects.filter(run__in=some).order_by().values_list("run", "topic").annotate(n=Count("pk"))
        counts |= {(run, topic): n for run, topic, n in rows}
    return counts


def _topics(run: Reconciliation) -> Iterator[str]:
    """Those it said something of: not those whose journal is off."""
    inputs, silent = run.summary.get("inputs"), run.summary.get("without_journal") or []
    names = inputs.get("topics") if isinstance(inputs, dict) else None
    for each in names if isinstance(names, list) else run.topics:
        if isinstance(each, str) and each not in silent:
            yield each


def _gaps(run: Reconciliation) -> set[str]:
    gaps = run.summary.get("gaps") or []
    return {str(each.get("topic")) for each in gaps if isinstance(each, dict)}
