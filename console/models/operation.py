"""Bulk actions: what was asked for, how far they are, and what became of the messages."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from console.access import Action
from console.models.audit import AuditEntry
from console.models.fields import JSONField
from console.models.progress import InProgress, WorkState


class Operation(InProgress, models.Model):
    """One bulk action. Times that end in `_ms` are epoch milliseconds of the Redis clock.

    Whoever works on it holds it: `runner` names that slice of work, and every write of it is bound to that name, so
    that one that was believed dead changes nothing. From `due_ms` on anybody may take it over.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    action = models.CharField(_("action"), max_length=40)
    topic = models.CharField(_("topic"), max_length=100, db_index=True)
    filter = JSONField(_("filter"), null=True, help_text=_("Which messages; empty where they were named."))
    refs = JSONField(_("messages"), default=list, help_text=_("[slot, id] pairs, where they were named."))
    values = JSONField(_("values"), default=dict, help_text=_("The new due time or priority."))
    undoes = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="undone_by")
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        verbose_name=_("user"),
        related_name="+",
    )
    username = models.CharField(_("who"), max_length=150)
    via = models.CharField(_("via"), max_length=20, default="page")
    address = models.GenericIPAddressField(_("from"), null=True)
    audit = models.ForeignKey(AuditEntry, null=True, on_delete=models.SET_NULL, related_name="+")

    state = models.CharField(_("state"), max_length=10, choices=WorkState.choices, default=WorkState.QUEUED)
    total = models.BigIntegerField(_("total"), default=0)
    total_exact = models.BooleanField(_("exact"), default=True)
    looked_at = models.BigIntegerField(_("looked at"), default=0)
    done = models.BigIntegerField(_("done"), default=0)
    skipped = models.BigIntegerField(_("skipped"), default=0)
    failed = models.BigIntegerField(_("failed"), default=0)
    error = models.TextField(_("error"), blank=True)

    rate_per_s = models.FloatField(_("messages per second"), default=0, help_text=_("0: as fast as possible."))
    canary = models.PositiveIntegerField(_("canary"), default=0)
    spread_ms = models.PositiveBigIntegerField(_("spread over (ms)"), default=0)

    created = models.DateTimeField(_("created"), default=timezone.now, db_index=True)
    started = models.DateTimeField(_("started"), null=True)
    finished = models.DateTimeField(_("finished"), null=True)

    cursor = models.TextField(default="", blank=True)
    place = JSONField(default=dict, help_text=_("Pace and canary: see the runner."))
    parts = models.PositiveIntegerField(default=0)
    runner = models.CharField(max_length=64, blank=True, default="")
    due_ms = models.BigIntegerField(default=0)
    slices = models.PositiveIntegerField(default=0)
    interruptions = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-created", "-id"]
        default_permissions = ()
        verbose_name = _("operation")
        verbose_name_plural = _("operations")
        indexes = [models.Index(fields=["state", "due_ms"])]

    def __str__(self) -> str:
        return f"{self.action} {self.topic} {self.id}"

    @property
    def undoable(self) -> bool:
        """Whether it took something out that may be brought back."""
        return self.action in (Action.CANCEL, Action.DROP) and not self.live and self.done > 0


class OperationPart(models.Model):
    """Some thousand messages of an operation: recorded before they are acted on, completed after it.

    `refs`: JSON, see `console.jobs.operation_parts`; kept as long as the operation can be undone. `undone`: JSON,
    [[slot, id, status], …] of those that were not done.
    """

    operation = models.ForeignKey(Operation, on_delete=models.CASCADE, related_name="chunks")
    number = models.PositiveIntegerField()
    refs = models.TextField(default="[]")
    acted = models.BooleanField(default=False)
    undone = models.TextField(default="[]")

    class Meta:
        ordering = ["operation", "number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["operation", "number"], name="one_part_of_a_number")]

    def __str__(self) -> str:
        return f"{self.operation_id}/{self.number}"
