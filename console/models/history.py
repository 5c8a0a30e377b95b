"""The history of days, as compressed blocks; see `console.history`."""

from __future__ import annotations

from django.db import models


class HistoryBlock(models.Model):
    """Rows of one topic over some time. Times are epoch milliseconds of the Redis clock.

    `end_ms`: up to where it tells something. `size`: bytes of `data`, so that sums need not read them.
    """

    class Series(models.TextChoices):
        NUMBERS = "numbers"
        SLOTS = "slots"

    topic = models.CharField(max_length=100)
    series = models.CharField(max_length=10, choices=Series.choices)
    step_ms = models.PositiveIntegerField()
    start_ms = models.BigIntegerField()
    end_ms = models.BigIntegerField()
    size = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["topic", "series", "step_ms", "start_ms"], name="one_block_of_a_start")
        ]
        # With all that sums ask for, so that they do not read the blocks.
        indexes = [models.Index(fields=["series", "step_ms", "end_ms", "start_ms", "size"], name="history_by_age")]

    def __str__(self) -> str:
        return f"{self.topic} {self.series} {self.step_ms} {self.start_ms}"


class HistoryWriter(models.Model):
    """One row: the keeper that writes the history now. One that was active before finds another name here."""

    name = models.CharField(max_length=32)

    class Meta:
        default_permissions = ()
