"""The history of days, as compressed blocks; see `console.history`."""

from __future__ import annotations

from django.db import models

NAME_MOST = 201
"""Of a consumer group: its stream's name, @ and its own."""


class HistoryBlock(models.Model):
    """Rows of one topic over some time. Times are epoch milliseconds of the Redis clock.

    `end_ms`: up to where it tells something. `size`: bytes of `data`, so that sums need not read them.
    """

    class Series(models.TextChoices):
        NUMBERS = "numbers"
        SLOTS = "slots"

    topic = models.CharField(max_length=NAME_MOST)
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


class HistoryProblem(models.Model):
    """A problem from when it was first seen until it was gone. `said`: [[at_ms, severity, values], …]: how it stood.

    `key` tells it from others of its topic. `open`: it was still there at `seen_ms`, when it was last looked for.
    """

    topic = models.CharField(max_length=NAME_MOST, blank=True)
    key = models.CharField(max_length=250)
    code = models.CharField(max_length=40)
    severity = models.CharField(max_length=10)
    begun_ms = models.BigIntegerField()
    seen_ms = models.BigIntegerField()
    open = models.BooleanField(default=True)
    said = models.BinaryField()

    class Meta:
        default_permissions = ()
        indexes = [
            models.Index(fields=["topic", "seen_ms"], name="history_problem_of_topic"),
            models.Index(fields=["open", "seen_ms"], name="history_problem_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.topic} {self.code} {self.begun_ms}"


class HistoryWorker(models.Model):
    """A worker process from its start on: what is deployed shows by it. `topics`: JSON, those it listens to."""

    name = models.CharField(max_length=200)
    host = models.CharField(max_length=200)
    version = models.CharField(max_length=40)
    started_ms = models.BigIntegerField(db_index=True)
    topics = models.TextField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["name", "started_ms"], name="one_start_of_a_worker")]

    def __str__(self) -> str:
        return f"{self.name} {self.started_ms}"
