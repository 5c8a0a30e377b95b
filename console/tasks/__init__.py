"""Django's tasks on the queue: `@task` functions of any project, with priority, `run_after`, results and retries.

    INSTALLED_APPS += ["console.tasks"]
    TASKS = {"default": {"BACKEND": "console.tasks.RMQBackend", "OPTIONS": {"REDIS_URL": "redis://…"}}}

An app of its own, which needs nothing else of the console. `RMQBackend` is of `django.tasks` where Django has it (6.0),
else of the package `django-tasks`; `console.tasks.backends` has one for each. See docs/how-to/django-tasks.md.
"""

from importlib import import_module
from importlib.util import find_spec

__all__ = ["RMQBackend"]


def __getattr__(name: str) -> object:
    """Django imports this package before there may be settings."""
    if name != "RMQBackend":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kind = "django" if find_spec("django.tasks") else "backport"
    return import_module(f"console.tasks.backends.{kind}").RMQBackend
