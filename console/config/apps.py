"""What only the project brings: users in the admin, commands and checks of its own."""

from django.apps import AppConfig


class ProjectConfig(AppConfig):
    name = "console.config"
    label = "console_project"
    verbose_name = "RMQ Console by itself"

    def ready(self) -> None:
        from console.config import checks  # noqa: F401  (registers the checks)
