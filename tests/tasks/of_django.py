"""Tasks of `django.tasks`."""

from django.tasks import task

from tests.tasks.definitions import declare

declare(task, globals())
