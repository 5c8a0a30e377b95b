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
    inputs, silent = _told(run).get("inputs"), _list(_told(run).get("without_journal"))
    names = inputs.get("topics") if isinstance(inputs, dict) else None
    for each in names if isinstance(names, list) else _list(run.topics):
        if isinstance(each, str) and each not in silent:
            yield each


def lacking_topics(run: Reconciliation) -> set[str]:
    """Those whose journal had gaps."""
    return {str(each.get("topic")) for each in _list(_told(run).get("gaps")) if isinstance(each, dict)}


def _told(run: Reconciliation) -> dict[str, Any]:
    """A record that is damaged says nothing, and hides no other."""
    return run.summary if isinstance(run.summary, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
