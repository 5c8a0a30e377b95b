"""The console's own clock, by which the rows of its database are dated: it goes on while Redis is away."""

from __future__ import annotations

from datetime import datetime
from typing import overload

from django.utils import timezone


def now_ms() -> int:
    """Epoch milliseconds."""
    return ms_of(timezone.now())


@overload
def ms_of(when: datetime) -> int: ...
@overload
def ms_of(when: None) -> None: ...
@overload
def ms_of(when: datetime | None) -> int | None: ...


def ms_of(when: datetime | None) -> int | None:
    """The same of a row's time."""
    return None if when is None else round(when.timestamp() * 1000)
