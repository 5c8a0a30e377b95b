"""The history of topic definitions: one row per version that was seen."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from console.models.fields import JSONField


class TopicRevision(models.Model):
    """One version of one topic. The truth is in Redis; this is who made it, when and why.

    `stored_ms` is when Redis stored it (epoch ms), which tells a topic from a later one of the same name. A row without
    a user was made by an application or the command line, and recorded when it was first seen.
    """

    class Change(models.TextChoices):
        FOUND = "found", _("first seen")
        CREATED = "created", _("created")
        EDITED = "edited", _("edited")
        ROLLED_BACK = "rolled_back", _("rolled back")
        DELETED = "deleted", _("deleted")

    topic = models.CharField(_("topic"), max_length=100)
    version = models.PositiveBigIntegerField(_("version"))
    stored_ms = models.BigIntegerField(_("stored at (ms)"))
    change = models.CharField(_("change"), max_length=12, choices=Change.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        verbose_name=_("user"),
        related_name="+",
    )
    username = models.CharField(_("who"), max_length=150, blank=True)
    via = models.CharField(_("via"), max_length=20, default="page")
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    definition = JSONField(_("definition"), null=True, help_text=_("Empty where the topic was deleted."))
    difference = JSONField(_("difference"), default=list, help_text=_("Against the version before."))

    class Meta:
        ordering = ["-stored_ms", "-id"]
        default_permissions = ("view",)
        verbose_name = _("topic revision")
        verbose_name_plural = _("topic revisions")
        constraints = [
            models.UniqueConstraint(fields=["topic", "version", "stored_ms"], name="console_one_revision_each")
        ]
        indexes = [models.Index(fields=["topic", "-stored_ms"], name="console_revision_newest")]

    def __str__(self) -> str:
        return f"{self.topic} {self.version}"
