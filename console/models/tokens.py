"""API tokens, and the answers kept for requests that may be repeated."""

from __future__ import annotations

import re

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from console.access import EVERY_TOPIC, ROLE_WORDS, TokenUser, split_patterns
from console.models.fields import JSONField
from rmq_core.model.text import NotText
from rmq_core.model.text import check_name as check_printable

PATTERN = re.compile(r"[A-Za-z0-9_.*?-]{1,100}")
PATTERNS_MAX = 50
RATE_DEFAULT = 6_000
RATE_MAX = 1_000_000


def check_patterns(text: str) -> None:
    """Raises `ValidationError` for what cannot be a pattern of topic names."""
    patterns = split_patterns(text)
    wrong = [pattern for pattern in patterns if PATTERN.fullmatch(pattern) is None]
    if wrong or not 1 <= len(patterns) <= PATTERNS_MAX:
        raise ValidationError(gettext("Write topic names, in which * stands for any text, such as orders.*, billing"))


def check_name(text: str) -> None:
    """Raises `ValidationError` for a name that could not be printed on one line."""
    try:
        check_printable(text)
    except NotText:
        raise ValidationError(gettext("Use printable characters only.")) from None


class ApiToken(models.Model):
    """A secret that stands for a role. The secret itself is shown once and never stored, only its digest."""

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        EXPIRED = "expired", _("expired")
        REVOKED = "revoked", _("revoked")

    name = models.CharField(
        _("name"), max_length=60, validators=[check_name], help_text=_("Who or what uses it; shown in the audit.")
    )
    prefix = models.CharField(_("begins with"), max_length=20, unique=True, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    role = models.CharField(_("role"), max_length=20, choices=list(ROLE_WORDS.items()), default="Viewer")
    topics = models.TextField(
        _("topics"),
        default=EVERY_TOPIC,
        validators=[check_patterns],
        help_text=_("Topic names, in which * stands for any text; several between commas. A lone * means all."),
    )
    rate_per_minute = models.PositiveIntegerField(
        _("requests per minute"),
        default=RATE_DEFAULT,
        validators=[MinValueValidator(1), MaxValueValidator(RATE_MAX)],
        help_text=_("More are refused with 429 and the time to wait."),
    )
    created_at = models.DateTimeField(_("made"), auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        verbose_name=_("made by"),
        related_name="+",
    )
    expires_at = models.DateTimeField(_("expires"), help_text=_("After this moment the token is refused."))
    revoked_at = models.DateTimeField(_("revoked at"), null=True, editable=False)
    last_used_at = models.DateTimeField(_("last used"), null=True, editable=False)
    last_used_from = models.GenericIPAddressField(_("last used from"), null=True, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        default_permissions = ()  # `console.access` decides
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def state(self) -> State:
        """What the token is worth now."""
        if self.revoked_at is not None:
            return self.State.REVOKED
        return self.State.EXPIRED if self.expires_at <= timezone.now() else self.State.ACTIVE

    def as_user(self) -> TokenUser:
        """Who acts when the token is used."""
        return TokenUser(self.name, self.prefix, self.role, split_patterns(self.topics))


class KeptAnswer(models.Model):
    """The answer to a request with an `Idempotency-Key`, for a day. Written before the request is worked on."""

    caller = models.CharField(max_length=40)
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64)
    started_at = models.DateTimeField(default=timezone.now, db_index=True)
    status = models.PositiveSmallIntegerField(null=True)
    headers = JSONField(default=dict)
    body = models.BinaryField(null=True)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["caller", "key"], name="kept_answer_once")]

    def __str__(self) -> str:
        return f"{self.caller} {self.key}"
