"""The rules that there are at the beginning: made once, and then like any other."""

from __future__ import annotations

from console.models import AlertRule
from console.models.alerts import Severity

CRITICAL, WARNING = Severity.CRITICAL, Severity.WARNING
MINUTE = 60_000
DEFAULTS: tuple[tuple[str, str, str, int], ...] = (
    ("data-lost", "data_lost", CRITICAL, 0),
    ("no-workers", "no_workers", CRITICAL, MINUTE),
    ("slots-without-owner", "unowned", CRITICAL, 2 * MINUTE),
    ("lagging", "lagging", WARNING, 5 * MINUTE),
    ("starving", "starving", WARNING, 5 * MINUTE),
    ("lateness-budget", "objective_burning", CRITICAL, MINUTE),
    ("group-stuck", "group_stuck", CRITICAL, 2 * MINUTE),
    ("dead-letters-growing", "dead_growing", WARNING, MINUTE),
    ("delivery-stuck", "stuck", WARNING, 5 * MINUTE),
    ("ledger", "ledger", CRITICAL, MINUTE),
    ("journal-full", "journal_full", WARNING, MINUTE),
    ("entries-missed", "missed", WARNING, 0),
    ("redis-memory", "memory", CRITICAL, MINUTE),
    ("redis-eviction", "eviction", CRITICAL, 0),
    ("zookeeper-away", "zookeeper_away", CRITICAL, MINUTE),
    ("worker-lost", "worker_lost", WARNING, MINUTE),
    ("outbox-away", "outbox_away", CRITICAL, MINUTE),
    ("outbox-lagging", "outbox_lagging", WARNING, 2 * MINUTE),
    ("recurring-failing", "recurring_failing", WARNING, MINUTE),
    ("route-failing", "route_failing", WARNING, 2 * MINUTE),
)
"""Name, problem, severity, for how long."""


def make_defaults() -> None:
    """In an installation that has no rule yet."""
    if AlertRule.objects.exists():
        return
    AlertRule.objects.bulk_create(
        AlertRule(name=name, problem=problem, severity=severity, for_ms=for_ms)
        for name, problem, severity, for_ms in DEFAULTS
    )
