"""What only the project brings: users in the admin, commands and checks of its own."""

from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core import checks


class ProjectConfig(AppConfig):
    name = "console.config"
    label = "console_project"
    verbose_name = "RMQ Console by itself"

    def ready(self) -> None:
        from console.config import checks  # noqa: F401  (registers the checks)


class LateAdmin(SimpleAdminConfig):
    """What the admin shows is loaded with the addresses: keeper, workers and jobs have no use for it, nor its price."""

    def ready(self) -> None:
        for check in (check_dependencies, _check_what_is_shown):
            checks.register(check, checks.Tags.admin)


def _check_what_is_shown(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    import_module(settings.ROOT_URLCONF)
    return check_admin_app(app_configs, **kwargs)
