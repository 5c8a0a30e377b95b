"""System checks: what a project lacks for the console, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.urls import NoReverseMatch, reverse

from console.options import options

APPS = ("django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.messages",
        "django.contrib.sessions", "django.contrib.staticfiles")  # fmt: skip
MIDDLEWARE = (
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
)


@register
def what_the_console_needs(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    return [*_apps(), *_addresses(), *_layer(), *_database()]


def _apps() -> Iterator[CheckMessage]:
    from django.apps import apps

    for name in APPS:
        if not apps.is_installed(name):
            yield Error(f"The console needs {name}.", hint="Add it to INSTALLED_APPS.", id="console.E020")
    for name in MIDDLEWARE:
        if name not in settings.MIDDLEWARE:
            yield Error(f"The console needs {name}.", hint="Add it to MIDDLEWARE.", id="console.E021")


def _addresses() -> Iterator[CheckMessage]:
    try:
        reverse("console:overview")
    except NoReverseMatch:
        hint = 'Add path("rmq/", include("console.urls")) to the urlpatterns of ROOT_URLCONF.'
        yield Warning("The console has no address.", hint=hint, id="console.W022")
    if not getattr(settings, "ASGI_APPLICATION", None):
        hint = "Set ASGI_APPLICATION, with the console's sockets in it; until then pages stand still."
        yield Warning("The console's live updates need ASGI.", hint=hint, id="console.W023")


def _layer() -> Iterator[CheckMessage]:
    alias = options().channel_layer
    if alias and alias not in getattr(settings, "CHANNEL_LAYERS", {}):
        hint = "Add it, or leave CHANNEL_LAYER out of RMQ_CONSOLE: the console then has a layer of its own."
        yield Error(f"CHANNEL_LAYERS has no {alias!r}.", hint=hint, id="console.E024")


def _database() -> Iterator[CheckMessage]:
    database = settings.DATABASES.get("default", {})
    engine = database.get("ENGINE", "").lower()
    if any(other in engine for other in ("mysql", "oracle", "mssql")):
        hint = "Its own tables lie in the default one. Others may have an outbox: DATABASES of RMQ_OUTBOX."
        yield Error("The console needs PostgreSQL or SQLite as its database.", hint=hint, id="console.E026")
    if engine.endswith("sqlite3") and "transaction_mode" not in database.get("OPTIONS", {}):
        hint = 'Set "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20} of DATABASES["default"].'
        yield Warning("Several processes of the console write to this SQLite.", hint=hint, id="console.W025")
