"""The data pipeline of the demo: what is archived and reconciled by itself, from its first start on."""

from __future__ import annotations

from importlib.util import find_spec

from console.clock import now_ms
from console.demo.ledger import NAME as LEDGER
from console.models import PipelineSchedule

WHO = "demo"
ARCHIVE_S = 240
RECONCILE_S = 360
"""Four times a replayed day, the last time at its end."""
SETTLE_S = 60
"""Nothing runs so soon after a start, when everything else wants the processors."""


def ensure_schedules() -> bool:
    """Archive and reconcile on schedule; what an operator has changed stays. False: Spark is not installed.

    Before anything is sent: where an archive is on schedule, journals keep everything until it has run.
    """
    if find_spec("pyspark") is None:
        return False
    first_ms = now_ms() + SETTLE_S * 1000
    for kind, ledger, every_s, after_s in (("archive", "", ARCHIVE_S, 0), ("reconcile", LEDGER, RECONCILE_S, 120)):
        values = {"ledger": ledger, "every_ms": every_s * 1000, "next_ms": first_ms + after_s * 1000}
        PipelineSchedule.objects.get_or_create(username=WHO, kind=kind, defaults=values)
    PipelineSchedule.objects.filter(username=WHO, next_ms__lt=first_ms).update(next_ms=first_ms)
    return True
