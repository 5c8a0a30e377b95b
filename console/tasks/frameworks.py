"""The backends of this project, whichever package reads `TASKS`."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from console.tasks.backend import Backend


def backends() -> dict[str, Any]:
    """By alias; of a package whose class it is, where both are there."""
    found: dict[str, Any] = {}
    for package in ("django.tasks", "django_tasks"):
        if find_spec(package) is None:
            continue
        handler = import_module(package).task_backends
        for alias in handler:
            backend = handler[alias]
            if alias not in found or (isinstance(backend, Backend) and backend.framework.package == package):
                found[alias] = backend
    return found
