"""Tasks of the package `django-tasks`."""

from django_tasks import task

from tests.tasks.definitions import declare

declare(task, globals())
