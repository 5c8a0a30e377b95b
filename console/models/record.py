"""What became of every message, for topics whose journal is on: one row per message, one per transition."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class MessageRecord(models.Model):
    """A message as the journal has recorded it so far. Times are epoch milliseconds of the Redis clock.

    `key` stands for topic, slot and id. Like the queue itself it knows where the id is: `queued` (in store or retry),
    `in_flight`, `dead`; a duplicate may wait while its twin is in flight. `state` sums that up. `basis`: the slot basis
    its sender gave, where that is not the id.
    """

    class State(models.TextChoices):
        DELAYED = "delayed", _("delayed")
        READY = "ready", _("ready")
        RETRYING = "retrying", _("retrying")
        HELD = "held", _("held")
        IN_FLIGHT = "in_flight", _("in flight")
        DEAD = "dead", _("dead")
        DONE = "done", _("done")
        CANCELLED = "cancelled", _("cancelled")
        DROPPED = "dropped", _("dropped")
        EXPIRED = "expired", _("expired")
        OUTDATED = "outdated", _("outdated")
        LOST = "lost", _("lost")
        UNKNOWN = "unknown", _("unknown")

    ENDED = (State.DONE, State.CANCELLED, State.DROPPED, State.EXPIRED, State.OUTDATED, State.LOST)

    key = models.UUIDField(primary_key=True, editable=False)
    topic = models.CharField(_("topic"), max_length=100)
    slot = models.PositiveIntegerField(_("slot"))
    ident = models.BinaryField()
    state = models.CharField(_("state"), max_length=10, choices=State.choices)
    queued = models.CharField(max_length=10, default="")
    in_flight = models.BooleanField(default=False)
    dead = models.BooleanField(default=False)
    first_ms = models.BigIntegerField()
    updated_ms = models.BigIntegerField()
    ended_ms = models.BigIntegerField(null=True)
    due_ms = models.BigIntegerField(null=True)
    priority = models.BigIntegerField(_("priority"), null=True)
    sends = models.PositiveIntegerField(_("sends"), default=0)
    deliveries = models.PositiveIntegerField(_("deliveries"), default=0)
    failures = models.PositiveIntegerField(_("failures"), default=0)
    error = models.TextField(default="")
    body = models.BinaryField(null=True)
    basis = models.BinaryField(null=True)

    class Meta:
        default_permissions = ()
        verbose_name = _("recorded message")
        verbose_name_plural = _("recorded messages")
        indexes = [
            models.Index(fields=["topic", "state", "updated_ms"], name="record_by_state"),
            models.Index(fields=["updated_ms"], name="record_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.topic}/{self.slot} {self.key}"


class MessageTransition(models.Model):
    """One step of one message. `entry`, the running number of the entry in its slot's journal, and `seq` are its place
    there, so that what is read twice is written once; `at_ms` comes first, as a flushed Redis counts from the start.

    The entry's stream id would not do: Redis makes it a moment after the script has looked at the clock, so that two
    entries of one `at_ms` may be called 1000-0 and 1001-0.
    """

    # Without a foreign key's index and constraint: the unique constraint below serves the look-ups.
    message = models.UUIDField()
    at_ms = models.BigIntegerField()
    entry = models.BigIntegerField()
    seq = models.PositiveIntegerField()
    event = models.CharField(max_length=12)
    from_state = models.CharField(max_length=10, blank=True)
    to_state = models.CharField(max_length=10, blank=True)
    worker = models.CharField(max_length=200, blank=True)
    host = models.CharField(max_length=100, blank=True)
    receipt = models.BigIntegerField(null=True)
    due_ms = models.BigIntegerField(null=True)
    priority = models.BigIntegerField(null=True)
    failures = models.PositiveIntegerField(null=True)
    error = models.TextField(default="", blank=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["message", "at_ms", "entry", "seq"], name="one_transition_of_a_place")
        ]
        indexes = [models.Index(fields=["at_ms"], name="transition_by_age")]

    def __str__(self) -> str:
        return f"{self.message} {self.event} {self.at_ms}"


class RecordPosition(models.Model):
    """How far the record has read a slot's journal; written together with what was read.

    `gaps`: so often something was missing in the journal (trimmed by hand); from then on it is incomplete.
    """

    topic = models.CharField(max_length=100)
    slot = models.PositiveIntegerField()
    entry_id = models.CharField(max_length=41)
    n = models.BigIntegerField(default=0)
    gaps = models.PositiveIntegerField(default=0)
    gap_ms = models.BigIntegerField(null=True)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["topic", "slot"], name="one_position_of_a_slot")]

    def __str__(self) -> str:
        return f"{self.topic}/{self.slot} {self.entry_id}"
