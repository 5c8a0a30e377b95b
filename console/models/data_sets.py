"""Which data the server held when the keeper looked last, and when it held other data than that."""

from __future__ import annotations

from django.db import models


class DataLoss(models.Model):
    """The server holds other data than it did. `seen_ms`: when its former data was seen last; `found_ms`: when it was
    noticed; both by the server's clock. `back_ms`: from when the data is that is there instead; null: it is another.

    `marked`: the record says so of its messages. `how` "": it is a problem still.
    """

    class How(models.TextChoices):
        ACCEPTED = "accepted"
        RESTORED = "restored"
        RETURNED = "returned"

    seen_ms = models.BigIntegerField()
    found_ms = models.BigIntegerField(db_index=True)
    back_ms = models.BigIntegerField(null=True)
    marked = models.BooleanField(default=False)
    how = models.CharField(max_length=10, choices=How.choices, blank=True, default="")

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.found_ms} {self.how or 'standing'}"


class KnownData(models.Model):
    """One row: the word and the count that the server's data had. `word` "": whatever is there next is taken for ours.
    `loss`: while the server holds other data."""

    word = models.CharField(max_length=32, blank=True, default="")
    count = models.BigIntegerField(default=0)
    at_ms = models.BigIntegerField(default=0)
    loss = models.ForeignKey(DataLoss, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.word} {self.count}"
