"""App configuration of the console."""

from typing import Any

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from rmq_core.model.text import shown


class ConsoleConfig(AppConfig):
    name = "console"
    verbose_name = "RMQ Console"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from console import checks, database, release  # noqa: F401  (registers the checks; looks at the files)
        from console.log_paths import hide_in_logs
        from console.options import options
        from console.usecases.job_queue import announce_queues

        hide_in_logs()
        options()  # now, rather than at the first request
        announce_queues()
        connection_created.connect(_read_odd_bytes)


def _read_odd_bytes(connection: Any, **_: Any) -> None:
    """SQLite keeps any bytes as text; one such row must not keep a page from the others."""
    if connection.vendor == "sqlite":
        connection.connection.text_factory = _text


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return shown(raw)
