"""Templates of the console's pages and of its admin, out of an engine of their own.

A project's admin may be plain, and its templates come first then; in here Unfold's do.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import unfold
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template import TemplateDoesNotExist
from django.template.backends.django import DjangoTemplates
from django.template.response import SimpleTemplateResponse

from console.policy import protect


@functools.cache
def _engine() -> DjangoTemplates:
    return DjangoTemplates(
        {
            "NAME": "console",
            "DIRS": [Path(__file__).parent / "templates", Path(unfold.__file__).parent / "templates"],
            "APP_DIRS": True,
            "OPTIONS": {
                "debug": settings.DEBUG,
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.template.context_processors.i18n",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ],
            },
        }
    )


def render(request: HttpRequest, name: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """A page."""
    answer = HttpResponse(_engine().get_template(name).render(context, request), status=status)
    protect(answer)
    return answer


def in_layout(response: Any) -> Any:
    """Have what Django's admin answers rendered by this engine."""
    if isinstance(response, SimpleTemplateResponse) and not response.is_rendered:
        names = response.template_name
        if isinstance(names, (str, list, tuple)):
            response.template_name = _first([names] if isinstance(names, str) else names)
        protect(response)
    return response


def _first(names: Sequence[str]) -> Any:
    for name in names[:-1]:
        with contextlib.suppress(TemplateDoesNotExist):
            return _engine().get_template(name)
    return _engine().get_template(names[-1])
