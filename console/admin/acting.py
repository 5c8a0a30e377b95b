"""Who acts by a form of the admin."""

from __future__ import annotations

from django.http import HttpRequest

from console.usecases.actor import Actor


def actor_of(request: HttpRequest) -> Actor:
    return Actor(request.user, request.META.get("REMOTE_ADDR") or None, "admin")
