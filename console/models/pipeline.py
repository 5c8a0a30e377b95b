"""Runs of the data pipeline, what they found, and when they run by themselves."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from console.models.audit import AuditEntry
from console.models.fields import JSONField
from console.models.progress import InProgress, WorkState

WITHOUT = "without_journal"
"""In a run's summary: topics it says nothing of, for their journal is off."""
STAGE_COSTS = ("rows", "read_bytes", "shuffled_bytes")


class Kind(models.TextChoices):
    """The pipeline's jobs."""

    RECONCILE = "reconcile", _("reconciliation")
    ARCHIVE = "archive", _("archive")
    RESTORE = "restore", _("restore")
    ERASE = "erase", _("erasure")


class PipelineSchedule(models.Model):
    """Runs a job again and again. `next_ms`: epoch milliseconds of the console's clock."""

    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    topics = JSONField(_("topics"), default=list)
    ledger = models.CharField(_("ledger"), max_length=200, blank=True, default="")
    every_ms = models.PositiveBigIntegerField(_("every (ms)"))
    enabled = models.BooleanField(_("enabled"), default=True)
    next_ms = models.BigIntegerField(default=0, db_index=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    username = models.CharField(_("who"), max_length=150)
    changed = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        ordering = ["pk"]
        default_permissions = ()
        verbose_name = _("schedule")
        verbose_name_plural = _("schedules")

    def __str__(self) -> str:
        return f"{self.kind} every {self.every_ms // 1000} s"


class Reconciliation(InProgress, models.Model):
    """One run of a job: a reconciliation, or an archive, restore or erasure.

    `topics` empty: all. Whoever runs it writes `runner` and `due_ms` (epoch ms by the console's clock); from `due_ms`
    on it is taken for dead. `stages`: [[name, started_ms, done, total, cost], …] as far as it has come; `cost`: of
    `STAGE_COSTS` what is known, once the stage is over. `complete` false: something was missing in the journals, so
    nothing is said about that part.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices, default=Kind.RECONCILE)
    topics = JSONField(default=list)
    ledger = models.CharField(_("ledger"), max_length=200, blank=True, default="")
    asked = JSONField(
        default=dict,
        help_text="Of a restore: dry_run, into, at_ms; of an erasure: dry_run, ids, slot_bases;"
        " of a reconciliation: from_scratch.",
    )
    schedule = models.ForeignKey(PipelineSchedule, null=True, on_delete=models.SET_NULL, related_name="runs")
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    username = models.CharField(_("who"), max_length=150)
    via = models.CharField(_("via"), max_length=20, default="page")
    address = models.GenericIPAddressField(_("from"), null=True)
    audit = models.ForeignKey(AuditEntry, null=True, on_delete=models.SET_NULL, related_name="+")

    state = models.CharField(_("state"), max_length=10, choices=WorkState.choices, default=WorkState.QUEUED)
    percent = models.PositiveSmallIntegerField(_("percent"), default=0)
    stages = JSONField(default=list)
    error = models.TextField(_("error"), blank=True)
    summary = JSONField(default=dict)
    tables = JSONField(default=list, help_text="The report's table of topics.")
    complete = models.BooleanField(_("complete"), null=True)
    findings = models.PositiveIntegerField(_("findings"), default=0)
    listed = models.PositiveIntegerField(default=0)

    created = models.DateTimeField(_("created"), default=timezone.now, db_index=True)
    started = models.DateTimeField(_("started"), null=True)
    finished = models.DateTimeField(_("finished"), null=True)
    runner = models.CharField(max_length=64, blank=True, default="")
    due_ms = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["-created", "-id"]
        default_permissions = ()
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        indexes = [models.Index(fields=["state", "due_ms"], name="run_by_state")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class TopicVerdict(models.Model):
    """What the newest finished reconciliation of a topic said of it, and when the first run ended from which on all are
    clean (`clean_since`; null: the newest is not). Written as each run ends; it stays when the runs are forgotten."""

    topic = models.CharField(max_length=255, unique=True)
    clean_since = models.DateTimeField(null=True)
    at = models.DateTimeField(db_index=True, help_text="When that reconciliation ended.")
    run = models.UUIDField()
    findings = models.PositiveIntegerField(default=0)
    complete = models.BooleanField(default=True)

    class Meta:
        ordering = ["topic"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.topic}: {'clean' if self.clean_since else 'not clean'}"


class Finding(models.Model):
    """Something a reconciliation found, with what shows it and what would repair it ("none": a person must look)."""

    run = models.ForeignKey(Reconciliation, on_delete=models.CASCADE, related_name="found")
    kind = models.CharField(max_length=60)
    topic = models.CharField(max_length=100)
    slot = models.IntegerField(null=True)
    ident = models.TextField(blank=True, help_text="In its printable form.")
    evidence = JSONField(default=dict)
    cause = models.CharField(max_length=100, default="")
    repair = models.CharField(max_length=20, default="none")
    operation = models.UUIDField(null=True, help_text="What was started to repair it.")

    class Meta:
        ordering = ["pk"]
        default_permissions = ()
        indexes = [models.Index(fields=["run", "kind", "topic"], name="finding_by_kind")]

    def __str__(self) -> str:
        return f"{self.kind} {self.topic}/{self.slot}"
