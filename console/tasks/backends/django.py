"""For `django.tasks`, of Django 6.0 and later."""

from console.tasks.backend import backend_of
from console.tasks.framework import Framework

RMQBackend = backend_of(Framework("django.tasks"))
