"""Rows of every kind, for pages that are read through; run by the installation. Names begin with zz."""

import json
from datetime import timedelta

from django.utils import timezone

from console.clock import now_ms
from console.models import (
    Alert,
    AlertReceiver,
    AlertRule,
    AlertSilence,
    AuditEntry,
    Finding,
    Operation,
    PipelineSchedule,
    Reconciliation,
    RecurringMessage,
    SavedView,
    Screen,
)
from console.models.audit import LABELS
from console.outbox.models import OutboxMessage

TOPIC = "zz-times"
when, now = timezone.now(), now_ms()
far = now + 86_400_000
by = {"username": "zz-somebody"}
for action in LABELS:
    AuditEntry.objects.create(action=action, topic=TOPIC, result="done", reason="zz-why", done=3, **by)
for result in ("refused", "failed"):
    AuditEntry.objects.create(action="pause", topic=TOPIC, result=result, **by)
asked = {"topic": TOPIC, "filter": {"state": "dead"}, "reason": "zz-why", "total": 9, "looked_at": 9, **by}
ended = {"started": when, "finished": when}
done = Operation.objects.create(
    action="requeue", state="done", done=6, skipped=2, failed=1, canary=2, **ended, **asked
)  # fmt: skip
stopped = Operation.objects.create(action="cancel", state="stopped", done=3, rate_per_s=2, spread_ms=60_000, **asked)
Operation.objects.create(action="drop", state="failed", error="zz-error", interruptions=2, **asked)
Operation.objects.create(
    action="reschedule",
    state="running",
    runner="zz",
    due_ms=far,
    done=2,
    values={"in_ms": 60_000},
    started=when,
    **asked,
)
row = {"topic": TOPIC, "sent": 20, "acked": 3, "merge_ratio": 0.1, "lateness_p99_ms": 12, "causes": "[]"}
run = Reconciliation.objects.create(
    state="done", percent=100, started=when, finished=when, complete=False, findings=3, listed=3,
    stages=[["snapshot", 1, 1, 1]], tables=[row], summary={"counts": {"orphan_body": 1, "lost": 1, "overdue": 1}}, **by,
)  # fmt: skip
for kind, repair in (
    ("orphan_body", "drop_orphan"),
    ("lost", "send_again"),
    ("overdue", "requeue"),
    ("journal_gap", "none"),
):
    Finding.objects.create(
        run=run, kind=kind, topic=TOPIC, slot=0, ident="zz-ghost", evidence={"queues": []}, repair=repair
    )
running = Reconciliation.objects.create(
    kind="archive",
    state="running",
    percent=40,
    started=when,
    runner="zz",
    due_ms=far,
    stages=[["journals", now, 3, 9]],
    **by,
)
for kind in ("restore", "erase"):
    Reconciliation.objects.create(kind=kind, state="failed", error="zz-error", **ended, **by)
for enabled in (True, False):
    PipelineSchedule.objects.create(
        kind="archive", topics=[TOPIC], every_ms=86_400_000, next_ms=far, enabled=enabled, **by
    )
every = {"topic": TOPIC, "content": "zz", "when": "in_ms", "value": 0, **by}
RecurringMessage.objects.create(name="zz-hourly", every_ms=3_600_000, next_tick_ms=far, next_ms=far, **every)
RecurringMessage.objects.create(name="zz-cron", cron="0 9 * * 1-5", enabled=False, **every)
rule = AlertRule.objects.create(name="zz-rule", problem="dead", topics=TOPIC, **by)
begun = {"severity": "critical", "began_ms": now, "seen_ms": now}
for state in ("pending", "firing"):
    Alert.objects.create(
        rule=rule, name="zz-rule", topic=TOPIC, open_key=f"zz-{state}", state=state, fired_ms=now, **begun
    )
Alert.objects.create(
    rule=rule, name="zz-rule", topic=TOPIC, state="resolved", fired_ms=now, resolved_ms=now + 1, **begun
)
for topics in (TOPIC, "*"):
    AlertSilence.objects.create(rule="zz-rule", topics=topics, from_ms=now, until_ms=far, reason="zz-why", **by)
AlertReceiver.objects.create(name="zz-hook", address="https://zz.test/")
AlertReceiver.objects.create(name="zz-off", kind="apprise", address="json://zz.test", enabled=False)
panels = f"figures\nfigures {TOPIC}\nchart {TOPIC} backlog\nheatmap {TOPIC} lag_ms\ntopics zz*\nproblems\nalerts"
Screen.objects.create(
    name="zz-wall", panels=panels, title="zz", link_until=when + timedelta(days=3), digest="zz", link_by="zz", **by
)
Screen.objects.create(name="zz-other", panels="figures", **by)
for number, shared in enumerate((True, False)):
    SavedView.objects.create(
        name=f"zz-view-{number}", address="workers/", owner="" if shared else "zz", saved_ms=now, patterns="*", **by
    )
for state in ("waiting", "parked"):
    OutboxMessage.objects.create(
        topic=TOPIC, kind="fixed_time", value=far, content=b"zz", lane=1, written_ms=now, state=state, error="zz-error"
    )
rows = {"operation": done, "stopped": stopped, "run": run, "running": running}
print(json.dumps({name: str(each.pk) for name, each in rows.items()}))
