"""What passengers have booked."""

from __future__ import annotations

from django.db import models


class Booking(models.Model):
    """`confirmed_at`: when the passenger was told, which follows the seating."""

    passenger = models.CharField(max_length=100)
    flight = models.CharField(max_length=20)
    seat = models.CharField(max_length=4, blank=True)
    booked_at = models.DateTimeField(auto_now_add=True)
    confirmed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"booking-{self.pk}"
