"""Orders."""

from django.db import models


class Order(models.Model):
    number = models.IntegerField(primary_key=True)
    shipped = models.BooleanField(default=False)

    class Meta:
        app_label = "project"
