"""What a run found again although a repair had been begun for it in an earlier run."""

from __future__ import annotations

from collections.abc import Sequence

from console.models import Finding, Reconciliation

RUNS_MOST = 10
"""So many runs before it are looked through."""


def returned(run: Reconciliation, some: Sequence[Finding]) -> dict[int, str]:
    """By the number of the finding: the newest operation that was to repair the same message, in an earlier run."""
    before = Reconciliation.objects.filter(kind=run.kind, created__lt=run.created).order_by("-created")
    runs = list(before.values_list("pk", flat=True)[:RUNS_MOST])
    named = [each for each in some if each.ident]
    if not runs or not named:
        return {}
    begun = Finding.objects.filter(
        run__in=runs, operation__isnull=False, kind__in={each.kind for each in named},
        topic__in={each.topic for each in named}, ident__in={each.ident for each in named},
    )  # fmt: skip
    known = {
        (topic, slot, ident): str(operation)
        for topic, slot, ident, operation in begun.order_by("run__created", "pk").values_list(
            "topic", "slot", "ident", "operation"
        )
    }
    found = {each.pk: known.get((each.topic, each.slot, each.ident)) for each in named}
    return {number: operation for number, operation in found.items() if operation}
