"""Alerts: rules, what came of them, who is told, and silences. Times are epoch milliseconds of the Redis clock."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from console.access import EVERY_TOPIC
from console.models.fields import JSONField
from console.models.history import NAME_MOST
from console.models.tokens import check_name, check_patterns

RULE_NAME = RegexValidator(r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", _("Write letters, digits and - _ ."))
FOR_MOST_MS = 7 * 86_400_000
ROW_MOST = 100
METRICS = (
    ("lag_ms", _("lag (ms)")),
    ("backlog", _("backlog")),
    ("ready", _("ready")),
    ("retrying", _("retrying")),
    ("in_flight", _("in flight")),
    ("dead", _("dead letters")),
    ("oldest_ms", _("oldest delivery in flight (ms)")),
    ("in_s", _("sent per second")),
    ("out_s", _("done per second")),
    ("failed_s", _("failed per second")),
    ("p99", _("lateness p99 (ms)")),
)
PROBLEMS = (
    "no_workers", "unowned", "lagging", "falling_behind", "dead_growing", "dead", "stuck", "ledger", "journal_full",
    "group_stuck", "group_behind", "missed", "lag_unknown", "worker_lost", "zookeeper_away", "memory", "eviction",
    "unreadable_topic", "unreadable_worker", "outbox_away", "outbox_lagging", "outbox_parked", "recurring_failing",
    "route_failing", "route_idle", "objective_burning", "objective_missed",
    "starving", "order_stuck", "data_lost",
)  # fmt: skip
"""Codes of the keeper's list of problems."""


class Severity(models.TextChoices):
    CRITICAL = "critical", _("critical")
    WARNING = "warning", _("warning")
    INFO = "info", _("info")


class AlertReceiver(models.Model):
    """Who is told. `address` and `secret` are never shown again after they were saved."""

    class Kind(models.TextChoices):
        WEBHOOK = "webhook", _("webhook")
        APPRISE = "apprise", _("Apprise")

    name = models.CharField(_("name"), max_length=60, unique=True, validators=[check_name])
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices, default=Kind.WEBHOOK)
    address = models.CharField(_("address"), max_length=2_000)
    secret = models.CharField(_("secret"), max_length=200, blank=True)
    private = models.BooleanField(
        _("may be in a private network"),
        default=False,
        help_text=_("Of a webhook; without it, addresses of this machine and of private networks are refused."),
    )
    least = models.CharField(
        _("from severity"), max_length=10, choices=Severity.choices, default=Severity.WARNING,
        help_text=_("What is less severe is not sent."),
    )  # fmt: skip
    resolved = models.BooleanField(_("also when it is over"), default=True)
    enabled = models.BooleanField(_("enabled"), default=True)
    changed = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        ordering = ["name"]
        default_permissions = ()
        verbose_name = _("alert receiver")
        verbose_name_plural = _("alert receivers")

    def __str__(self) -> str:
        return self.name

    def wants(self, severity: str) -> bool:
        order = Severity.values
        return self.enabled and order.index(severity) <= order.index(self.least)


class AlertRule(models.Model):
    """What is wrong, and from when on that is an alert."""

    class Comparison(models.TextChoices):
        ABOVE = "above", _("above")
        BELOW = "below", _("below")

    name = models.CharField(_("name"), max_length=60, unique=True, validators=[RULE_NAME])
    description = models.CharField(_("description"), max_length=300, blank=True, help_text=_("What to do about it."))
    problem = models.CharField(
        _("problem"), max_length=40, blank=True, choices=[(each, each) for each in PROBLEMS],
        help_text=_("One of the list of problems; or a metric."),
    )  # fmt: skip
    metric = models.CharField(_("metric"), max_length=20, blank=True, choices=METRICS)
    comparison = models.CharField(
        _("comparison"), max_length=5, choices=Comparison.choices, default=Comparison.ABOVE, blank=True
    )
    threshold = models.FloatField(_("threshold"), null=True, blank=True)
    topics = models.TextField(
        _("topics"), default=EVERY_TOPIC, validators=[check_patterns],
        help_text=_("Topic names, in which * stands for any text; several between commas. A lone * means all."),
    )  # fmt: skip
    for_ms = models.BigIntegerField(
        _("for (ms)"), default=60_000, validators=[MinValueValidator(0), MaxValueValidator(FOR_MOST_MS)],
        help_text=_("It fires when this has lasted so long."),
    )  # fmt: skip
    fire_after = models.PositiveIntegerField(
        _("looks in a row before it fires"), default=2, validators=[MinValueValidator(1), MaxValueValidator(ROW_MOST)]
    )
    resolve_after = models.PositiveIntegerField(
        _("looks in a row before it is over"), default=6,
        validators=[MinValueValidator(1), MaxValueValidator(ROW_MOST)],
        help_text=_("The keeper looks every five seconds."),
    )  # fmt: skip
    severity = models.CharField(_("severity"), max_length=10, choices=Severity.choices, default=Severity.WARNING)
    receivers = models.ManyToManyField(
        AlertReceiver, blank=True, verbose_name=_("receivers"), help_text=_("None chosen: all of them.")
    )
    enabled = models.BooleanField(_("enabled"), default=True)
    username = models.CharField(_("who"), max_length=150, blank=True, editable=False)
    changed = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        ordering = ["name"]
        default_permissions = ()
        verbose_name = _("alert rule")
        verbose_name_plural = _("alert rules")

    def __str__(self) -> str:
        return self.name


class Alert(models.Model):
    """Something that is, or was, wrong by a rule. `topic` "": one alert for many topics, or of the installation.

    `bad`, `good`: looks in a row that found it wrong, or right. `seen_ms`: the last look that could tell.
    `told`: deliveries were made for it. `open_key` is the same for no two that are not over.
    """

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        FIRING = "firing", _("firing")
        RESOLVED = "resolved", _("resolved")

    rule = models.ForeignKey(AlertRule, null=True, on_delete=models.SET_NULL, related_name="alerts")
    name = models.CharField(max_length=60)
    topic = models.CharField(max_length=NAME_MOST, blank=True)
    open_key = models.CharField(max_length=300, unique=True, null=True)
    severity = models.CharField(max_length=10, choices=Severity.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    began_ms = models.BigIntegerField()
    fired_ms = models.BigIntegerField(null=True)
    resolved_ms = models.BigIntegerField(null=True, db_index=True)
    seen_ms = models.BigIntegerField()
    bad = models.PositiveIntegerField(default=0)
    good = models.PositiveIntegerField(default=0)
    value = models.FloatField(null=True)
    topics = JSONField(default=list)
    told = models.BooleanField(default=False)

    class Meta:
        ordering = ["-began_ms", "-id"]
        default_permissions = ()
        indexes = [models.Index(fields=["state", "fired_ms"], name="console_alert_by_state")]

    def __str__(self) -> str:
        return f"{self.name} {self.topic} {self.state}"


class AlertDelivery(models.Model):
    """One message about one alert to one receiver. `sent_ms` is set only after it was sent."""

    class What(models.TextChoices):
        FIRING = "firing", _("firing")
        RESOLVED = "resolved", _("resolved")

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        SENT = "sent", _("sent")
        GIVEN_UP = "given_up", _("given up")

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="deliveries")
    receiver = models.ForeignKey(AlertReceiver, on_delete=models.CASCADE, related_name="deliveries")
    what = models.CharField(max_length=10, choices=What.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    next_ms = models.BigIntegerField()
    tries = models.PositiveIntegerField(default=0)
    sent_ms = models.BigIntegerField(null=True)
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["alert", "receiver", "what"], name="console_told_once")]
        indexes = [models.Index(fields=["state", "next_ms"], name="console_alert_deliveries")]

    def __str__(self) -> str:
        return f"{self.alert_id} {self.what} {self.receiver_id}"


class AlertSilence(models.Model):
    """Nobody is told of what it covers until it ends. `rule` "": of all rules."""

    rule = models.CharField(max_length=60, blank=True)
    topics = models.TextField(default=EVERY_TOPIC, validators=[check_patterns])
    from_ms = models.BigIntegerField()
    until_ms = models.BigIntegerField(db_index=True)
    reason = models.CharField(max_length=500)
    username = models.CharField(max_length=150)

    class Meta:
        ordering = ["-until_ms", "-id"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.rule or '*'} {self.topics}"


class AlertLook(models.Model):
    """One row: the time of the newest sample that was looked at. An older one, of a keeper that slept, is not."""

    at_ms = models.BigIntegerField()
    defaults_made = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()
