"""App configuration: the console itself, and the admin site it uses."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class ConsoleConfig(AppConfig):
    name = "console"
    verbose_name = "RMQ Console"

    def ready(self) -> None:
        from console import checks  # noqa: F401  (registers the checks)


class ConsoleAdminConfig(AdminConfig):
    default_site = "console.site.ConsoleSite"
