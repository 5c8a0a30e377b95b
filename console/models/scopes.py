"""Which topics a role is for."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models
from django.utils.translation import gettext_lazy as _

from console.models.tokens import check_patterns


class TopicScope(models.Model):
    """Patterns of topics for a group of Django's; `console.access.topics_of` says what they do."""

    group = models.OneToOneField(Group, on_delete=models.CASCADE, verbose_name=_("role"), related_name="rmq_topics")
    patterns = models.TextField(
        _("topics"),
        validators=[check_patterns],
        help_text=_(
            "Topic names, in which * stands for any text; several between commas. Who is in roles with topics deals"
            " with those of all of them, and with no others; roles without topics say nothing of them."
        ),
    )
    changed = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        default_permissions = ()  # `console.access` decides
        ordering = ["group__name"]
        verbose_name = _("topics of a role")
        verbose_name_plural = _("topics of roles")

    def __str__(self) -> str:
        return f"{self.group}: {self.patterns}"
