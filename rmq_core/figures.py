"""Numbers and durations in sentences for people: 1,234.5 unless whoever asks for the sentence has it otherwise.

What programs read is never written here: it keeps its plain digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_SEPARATORS: ContextVar[tuple[str, str] | None] = ContextVar("rmq_separators", default=None)


@contextmanager
def separated(thousands: str, fraction: str) -> Iterator[None]:
    """Inside, numbers are written with these separators; in other threads and tasks they are as they were."""
    token = _SEPARATORS.set((thousands, fraction))
    try:
        yield
    finally:
        _SEPARATORS.reset(token)


def number(value: float, places: int = 0) -> str:
    """A count, or with ``places`` a fraction."""
    return _written(f"{value:,.{places}f}" if places else f"{value:,}")


def digits(value: float) -> str:
    """A number of a refusal, which a program may read: plain digits until somebody has chosen separators."""
    if _SEPARATORS.get() is None:
        return str(value)
    return _written(f"{value:,}")


def duration(ms: int) -> str:
    """The two largest units that say something, as the browser's `duration` writes them."""
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 60_000:
        tenths = round(ms / 100)
        return f"{number(tenths / 10, 1) if tenths % 10 else number(tenths // 10)} s"
    seconds = round(ms / 1_000)
    if seconds < 3_600:
        return _two_units(seconds, 60, "m", "s")
    if seconds < 86_400:
        return _two_units(round(seconds / 60), 60, "h", "m")
    return _two_units(round(seconds / 3_600), 24, "d", "h")


def _two_units(value: int, per: int, large: str, small: str) -> str:
    whole, rest = divmod(value, per)
    return f"{number(whole)} {large} {rest} {small}" if rest else f"{number(whole)} {large}"


def _written(text: str) -> str:
    thousands, fraction = _SEPARATORS.get() or (",", ".")
    return text.translate({ord(","): thousands, ord("."): fraction})
