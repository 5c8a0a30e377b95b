"""What people keep to come back to: views of pages, and their favourite topics."""

from __future__ import annotations

from django.db import models

NAME_MAX = 60
ADDRESS_MAX = 2_000


class SavedView(models.Model):
    """A page as somebody left it. `owner`: whose it is ("": shared); `patterns`: the topics its saver was for."""

    owner = models.CharField(max_length=60, blank=True)
    name = models.CharField(max_length=NAME_MAX)
    address = models.CharField(max_length=ADDRESS_MAX)
    topic = models.CharField(max_length=220, blank=True)
    patterns = models.TextField(default="*")
    username = models.CharField(max_length=150)
    saved_ms = models.BigIntegerField()

    class Meta:
        default_permissions = ()
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="rmq_view_name")]

    def __str__(self) -> str:
        return self.name


class Favourite(models.Model):
    """A topic that somebody has starred; it may be gone by now."""

    owner = models.CharField(max_length=60)
    topic = models.CharField(max_length=220)

    class Meta:
        default_permissions = ()
        ordering = ["topic"]
        constraints = [models.UniqueConstraint(fields=["owner", "topic"], name="rmq_favourite")]

    def __str__(self) -> str:
        return self.topic
