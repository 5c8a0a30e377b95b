"""For the package `django-tasks`, which brings tasks to earlier releases of Django."""

from console.tasks.backend import backend_of
from console.tasks.framework import Framework

RMQBackend = backend_of(Framework("django_tasks"))
