"""A model without a table that carries the console's permissions."""

from django.db import models

from console.access import Permission


class ConsolePermission(models.Model):
    """Never stored: gives Django's permission system a home for what `console.access` defines."""

    class Meta:
        managed = False
        default_permissions = ()
        permissions = [(permission.value, f"Can {permission.value.replace('_', ' ')}") for permission in Permission]
