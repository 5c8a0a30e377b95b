"""Messages that are sent again and again, and their ticks."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from console.recurring.rule import CRON_MAX, NAME_MAX, TEXT_MAX, InvalidRecurring, Recurring
from rmq_core.model.tenants import TENANT_MAX


class RecurringMessage(models.Model):
    """A definition, and which tick is next. `next_ms` is null where there will be none."""

    class When(models.TextChoices):
        PRIORITY = "priority", _("priority")
        RANGE = "range_ms", _("window (ms)")
        DELAY = "in_ms", _("delay (ms)")

    class Misfire(models.TextChoices):
        SKIP = "skip", _("send none of them")
        ONCE = "once", _("send the last")
        ALL = "all", _("send each")

    class Origin(models.TextChoices):
        CONSOLE = "console", _("console")
        CODE = "code", _("code")

    name = models.CharField(_("name"), max_length=NAME_MAX, unique=True)
    description = models.CharField(_("description"), max_length=TEXT_MAX, blank=True)
    topic = models.CharField(_("topic"), max_length=100)
    content = models.TextField(_("content"), help_text=_("Text, such as JSON; each tick sends it as it is."))
    when = models.CharField(
        _("delivered by"), max_length=10, choices=When.choices, help_text=_("What the topic's kind asks for.")
    )
    value = models.BigIntegerField(_("value"), help_text=_("The priority, the window or the delay."))
    cron = models.CharField(
        _("cron"),
        max_length=CRON_MAX,
        blank=True,
        help_text=_("Five fields, or six with seconds first: 0 7 * * MON-FRI"),
    )
    every_ms = models.BigIntegerField(_("interval (ms)"), null=True, blank=True, help_text=_("Instead of cron."))
    time_zone = models.CharField(_("time zone"), max_length=100, default="UTC", help_text=_("Such as Europe/Berlin."))
    jitter_ms = models.PositiveIntegerField(
        _("jitter (ms)"), default=0, help_text=_("Each tick comes up to so much later.")
    )
    misfire = models.CharField(
        _("missed ticks"), max_length=5, choices=Misfire.choices, default=Misfire.ONCE,
        help_text=_("What becomes of ticks for which nobody was there.")
    )  # fmt: skip
    start_ms = models.BigIntegerField(_("from (epoch ms)"), null=True, blank=True)
    end_ms = models.BigIntegerField(_("until (epoch ms)"), null=True, blank=True)
    expires_ms = models.BigIntegerField(
        _("expires after (ms)"), null=True, blank=True, help_text=_("Of each message; empty: as its topic says.")
    )
    unique_for_ms = models.BigIntegerField(
        _("once within (ms)"), null=True, blank=True, help_text=_("Of each message; empty: as its topic says.")
    )
    tenant = models.CharField(
        _("tenant"),
        max_length=TENANT_MAX,
        blank=True,
        default="",
        help_text=_("Of each message; empty: as its topic says."),
    )
    enabled = models.BooleanField(_("enabled"), default=True)
    origin = models.CharField(_("defined in"), max_length=10, choices=Origin.choices, default=Origin.CONSOLE)
    next_tick_ms = models.BigIntegerField(_("next tick"), null=True, editable=False)
    next_ms = models.BigIntegerField(_("next"), null=True, editable=False)
    error = models.CharField(_("last error"), max_length=500, blank=True, editable=False)
    username = models.CharField(_("who"), max_length=150, blank=True, editable=False)
    changed = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        ordering = ["name"]
        default_permissions = ()
        verbose_name = _("recurring message")
        verbose_name_plural = _("recurring messages")
        # Of those that are enabled: SQLite asks for a boolean in a way that no index of its values is used for.
        indexes = [models.Index(fields=["next_ms"], condition=models.Q(enabled=True), name="console_recurring_due")]

    def __str__(self) -> str:
        return self.name

    def rule(self) -> Recurring:
        """When its ticks are. Raises `InvalidRecurring`."""
        same = (
            "name", "description", "topic", "content", "cron", "every_ms", "time_zone", "jitter_ms", "misfire",
            "start_ms", "end_ms", "expires_ms", "unique_for_ms", "tenant",
        )  # fmt: skip
        values: dict[str, Any] = {name: getattr(self, name) for name in same}
        return Recurring(**(values | {self.when: self.value}))

    def clean(self) -> None:
        """For forms."""
        try:
            self.rule()
        except InvalidRecurring as error:
            names = {field.name for field in self._meta.fields}
            raise ValidationError(
                {name if name in names else "value": text for name, text in error.problems.items()}
            ) from None
        except TypeError:  # `when` is none of ours, which its field says
            return


class RecurringTick(models.Model):
    """A tick that was sent, or skipped. `missed`: so many before it were not sent, for nobody was there."""

    class How(models.TextChoices):
        ON_TIME = "on_time", _("on time")
        LATE = "late", _("late")
        SKIPPED = "skipped", _("skipped")
        BY_HAND = "by_hand", _("by hand")

    recurring = models.ForeignKey(RecurringMessage, on_delete=models.CASCADE, related_name="ticks")
    tick_ms = models.BigIntegerField()
    at_ms = models.BigIntegerField(db_index=True)
    how = models.CharField(max_length=10, choices=How.choices)
    missed = models.PositiveIntegerField(default=0)
    message = models.CharField(max_length=200, blank=True)
    outbox_row = models.BigIntegerField(null=True)
    username = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ["-tick_ms"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["recurring", "tick_ms"], name="console_one_message_per_tick")]

    def __str__(self) -> str:
        return f"{self.recurring_id} {self.tick_ms}"
