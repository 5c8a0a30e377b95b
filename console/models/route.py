"""Routes as the Django admin knows them: without a table, for they live in Redis."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class RouteDefinition(models.Model):
    """Never stored: the place of routes in the admin."""

    name = models.CharField(_("name"), max_length=60, primary_key=True)

    class Meta:
        managed = False
        default_permissions = ()
        verbose_name = _("route")
        verbose_name_plural = _("routes")

    def __str__(self) -> str:
        return self.name
