"""App configuration of the demo's bookings; installed with `manage.py up --demo` alone."""

from django.apps import AppConfig


class BookingsConfig(AppConfig):
    name = "console.demo.bookings"
    label = "rmq_demo"
    verbose_name = "Bookings"
    default_auto_field = "django.db.models.BigAutoField"
