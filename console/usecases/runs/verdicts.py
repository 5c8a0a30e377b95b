"""What finished reconciliations said of each topic: findings, and whether they lacked anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Count

from console.models import Finding, Reconciliation
from console.query_parts import in_parts


def findings_by_topic(runs: Iterable[Reconciliation]) -> dict[tuple[Any, str], int]:
    """How many findings are listed, by run and topic."""
    counts: dict[tuple[Any, str], int] = {}
    for some in in_parts([run.pk for run in runs if run.findings]):
        rows = Finding.objects.filter(run__in=some).order_by().values_list("run", "topic").annotate(n=Count("pk"))
        counts |= {(run, topic): n for run, topic, n in rows}
    return counts


def topics_of(run: Reconciliation) -> Iterator[str]:
    """Those it said something of: not those whose journal is off."""
    inputs, silent = run.summary.get("inputs"), _list(run.summary.get("without_journal"))
    names = inputs.get("topics") if isinstance(inputs, dict) else None
    for each in names if isinstance(names, list) else run.topics:
        if isinstance(each, str) and each not in silent:
            yield each


def lacking_topics(run: Reconciliation) -> set[str]:
    """Those whose journal had gaps."""
    return {str(each.get("topic")) for each in _list(run.summary.get("gaps")) if isinstance(each, dict)}


def _list(value: object) -> list[Any]:
    """What a damaged record says instead of a list is nothing, and hides no other run."""
    return value if isinstance(value, list) else []
