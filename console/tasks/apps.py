"""App configuration of the tasks."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TasksConfig(AppConfig):
    name = "console.tasks"
    label = "rmq_tasks"
    verbose_name = _("Tasks")
