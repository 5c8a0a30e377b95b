"""A model without a table that carries the console's permissions."""

from django.db import models

from console.access import Permission


class ConsolePermission(models.Model):
    """Never stored: gives Django's permission system a home for what `console.access` defines."""

    class Meta:
        managed = False
        default_permissions = ()
        # The permission to read the audit is the audit model's own.
        permissions = [
            (permission.value, f"Can {permission.value.replace('_', ' ')}")
            for permission in Permission
            if permission is not Permission.AUDIT
        ]
