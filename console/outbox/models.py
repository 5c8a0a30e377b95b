"""The table of the outbox. It lies in each database whose transactions send."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from console.outbox.rows import TABLE


class OutboxMessage(models.Model):
    """A message that was written in a transaction. It waits, until it is sent, parked (it cannot be sent as it is), or
    discarded by somebody.

    A relay leases a row by a token and a time, in columns without an index, which PostgreSQL changes in place. Columns
    have defaults in the database, for those who write without this model.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        SENT = "sent", _("sent")
        PARKED = "parked", _("parked")
        DISCARDED = "discarded", _("discarded")

    topic = models.CharField(_("topic"), max_length=100)
    kind = models.CharField(_("kind"), max_length=20)
    value = models.BigIntegerField(_("priority, window, time or delay"))
    content = models.BinaryField(_("content"))
    key = models.BinaryField(_("key"), null=True)
    slot_basis = models.BinaryField(_("slot basis"), null=True)
    headers = models.TextField(_("headers"), blank=True)
    version = models.BigIntegerField(_("version"), default=0, db_default=0)
    unique_for_ms = models.BigIntegerField(_("once within"), null=True)
    expires_ms = models.BigIntegerField(_("expires after"), null=True)
    tenant = models.TextField(_("tenant"), null=True)
    lane = models.BigIntegerField(_("lane"))
    written_ms = models.BigIntegerField(_("written"))
    state = models.CharField(
        _("state"), max_length=10, choices=State.choices, default=State.WAITING, db_default=State.WAITING.value
    )
    at_ms = models.BigIntegerField(_("not before, or ended"), default=0, db_default=0)
    """Of a row that waits: when it may be tried (0: it comes first, for it never was). Of others: when it ended."""
    lease = models.CharField(_("lease"), max_length=32, blank=True, default="", db_default="")
    leased_until_ms = models.BigIntegerField(_("leased until"), default=0, db_default=0)
    tries = models.PositiveIntegerField(_("failed tries"), default=0, db_default=0)
    error = models.CharField(_("last error"), max_length=500, blank=True, default="", db_default="")

    class Meta:
        db_table = TABLE
        default_permissions = ()
        verbose_name = _("message of the outbox")
        verbose_name_plural = _("messages of the outbox")
        indexes = [
            models.Index(fields=["state", "at_ms", "id"], name="rmq_outbox_at"),
            models.Index(fields=["state", "lane", "id"], name="rmq_outbox_lane"),
        ]

    def __str__(self) -> str:
        return f"{self.topic} {self.pk}"
