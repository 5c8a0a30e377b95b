"""Since when each topic is clean: from which reconciliation on none has found anything of it, or lacked anything."""

from __future__ import annotations

from typing import Any

from console.access import User, in_scope
from console.clock import ms_of
from console.models import Reconciliation
from console.usecases.runs.verdicts import findings_by_topic, lacking_topics, topics_of

RUNS_MOST = 500
"""So far back it is looked."""


def clean_topics(user: User) -> list[dict[str, Any]]:
    """A row for each topic that a finished reconciliation was about: `clean_since_ms`, when the first of the runs ended
    from which on all are clean; None: the last one is not."""
    done = Reconciliation.objects.filter(kind="reconcile", state="done", finished__isnull=False)
    runs = list(done.only("id", "finished", "summary", "topics", "findings", "listed").order_by("-created")[:RUNS_MOST])
    found = findings_by_topic(runs)
    rows: dict[str, dict[str, Any]] = {}
    ended = set[str]()
    for run in runs:
        at_ms, gaps = ms_of(run.finished), lacking_topics(run)
        for topic in topics_of(run):
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
