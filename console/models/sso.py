"""Who signed in by single sign-on, and what it takes to ask the provider again."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class SsoAccount(models.Model):
    """`checked_ms`: when the provider last said that they are there. `ended`: it has said no, until they sign in again.

    Its tokens open doors, so they are kept encrypted: see `console.sso.sealing`.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    subject = models.CharField(max_length=255)
    refresh = models.TextField(blank=True)
    id_token = models.TextField(blank=True)
    checked_ms = models.BigIntegerField(default=0)
    ended = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.subject
