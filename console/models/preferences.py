"""How somebody wants times and numbers written."""

from __future__ import annotations

from django.db import models

NUMBERS = ("1,234.5", "1.234,5", "1 234,5")
ZONE_MAX = 100


class Preferences(models.Model):
    """One row a person. `time_zone` "": the browser's; `numbers`: one of `NUMBERS`, "" as the language has it."""

    owner = models.CharField(max_length=60, unique=True)
    time_zone = models.CharField(max_length=ZONE_MAX, blank=True)
    numbers = models.CharField(max_length=10, blank=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.owner
