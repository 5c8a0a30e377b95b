"""App configuration of the outbox."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OutboxConfig(AppConfig):
    name = "console.outbox"
    label = "rmq_outbox"
    verbose_name = _("Outbox")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from console.outbox import checks  # noqa: F401  (registers them)
