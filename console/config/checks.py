"""System checks for what Django cannot know about this deployment."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import Error, Tags, register


@register(Tags.security, deploy=True)
def secret_key_is_kept(app_configs: Any, **kwargs: Any) -> list[Error]:
    """A key made up at start logs everybody out with every restart and differs between processes."""
    if not settings.SECRET_KEY_IS_TEMPORARY:
        return []
    return [
        Error(
            "No RMQ_SECRET_KEY is set.",
            hint="Set RMQ_SECRET_KEY to 50 or more random characters, or let `manage.py up` make one.",
            id="console.E001",
        )
    ]
