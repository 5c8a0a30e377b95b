"""Topic definitions as the Django admin knows them: without a table, for they live in Redis."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class TopicDefinition(models.Model):
    """Never stored: the place of topic definitions in the admin, which leads to the console's own form."""

    name = models.CharField(_("name"), max_length=100, primary_key=True)

    class Meta:
        managed = False
        default_permissions = ()
        verbose_name = _("topic definition")
        verbose_name_plural = _("topic definitions")

    def __str__(self) -> str:
        return self.name
