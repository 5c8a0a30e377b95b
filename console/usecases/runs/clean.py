"""Since when each topic is clean: from which reconciliation on none has found anything of it, or lacked anything.

A row per topic says it, and each run that ends brings those of its topics up to date: nobody has to read the runs of
months for that, of which there may be one a minute.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction

from console.access import User, in_scope
from console.clock import ms_of
from console.models import Reconciliation, TopicVerdict
from console.query_parts import in_parts
from console.usecases.runs.verdicts import findings_by_topic, lacking_topics, topics_of
from rmq_core.model.text import shown

NAME_MAX = 255
_SAID = ("clean_since", "at", "run", "findings", "complete")


@transaction.atomic
def note(run: Reconciliation) -> None:
    """Brings the topics of a reconciliation that has just ended well up to date.

    Two may end at once, and the one that ended first be noted last: each row is made first and locked then, and of two
    runs the later one has the last word.
    """
    assert run.finished is not None
    found, gaps = findings_by_topic([run]), lacking_topics(run)
    names = sorted({topic for topic in topics_of(run) if topic == shown(topic, NAME_MAX)})
    made = [TopicVerdict(topic=topic, at=run.finished, run=run.pk) for topic in names]
    TopicVerdict.objects.bulk_create(made, batch_size=100, ignore_conflicts=True)
    for some in in_parts(names):
        rows = TopicVerdict.objects.filter(topic__in=some, at__lte=run.finished).order_by("topic").select_for_update()
        told = list(rows)
        for row in told:
            row.findings, row.complete = found.get((run.pk, row.topic), 0), row.topic not in gaps
            clean = row.complete and not row.findings and run.findings <= run.listed
            row.clean_since = (row.clean_since or run.finished) if clean else None
            row.at, row.run = run.finished, run.pk
        TopicVerdict.objects.bulk_update(told, _SAID, batch_size=100)


def clean_topics(user: User) -> list[dict[str, Any]]:
    """A row for each topic that a finished reconciliation was about: `clean_since_ms`, when the first of the runs ended
    from which on all are clean; None: the last one is not."""
    return [_shown(row) for row in TopicVerdict.objects.all() if in_scope(user, row.topic.partition("@")[0])]


def _shown(row: TopicVerdict) -> dict[str, Any]:
    return {
        **{"topic": row.topic, "clean_since_ms": ms_of(row.clean_since), "at_ms": ms_of(row.at), "run": str(row.run)},
        **{"findings": row.findings, "complete": row.complete},
    }
