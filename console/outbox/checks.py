"""System checks: what a project lacks for the outbox."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from console.outbox.options import options


@register
def outbox_is_configured(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    try:
        options()
    except ImproperlyConfigured as error:
        return [Error(str(error), id="rmq_outbox.E001")]
    return []
