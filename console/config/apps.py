"""What only the project brings: its admin site, and commands and checks of its own."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class ProjectConfig(AppConfig):
    name = "console.config"
    label = "console_project"
    verbose_name = "RMQ Console by itself"

    def ready(self) -> None:
        from console.config import checks  # noqa: F401  (registers the checks)


class ConsoleAdminConfig(AdminConfig):
    default_site = "console.config.site.ConsoleSite"
