"""What a listener may raise to say more than "it failed"."""

from __future__ import annotations

from rmq_core.errors import InvalidMessage

DELAY_MAX_MS = 10 * 366 * 86_400_000
"""Ten years: the longest that anything is put off, sends included."""


def check_delay(delay_ms: int, field: str = "delay_ms") -> int:
    """A delay somebody asked for: 0 to ten years of milliseconds. Raises `InvalidMessage`."""
    if type(delay_ms) is not int or not 0 <= delay_ms <= DELAY_MAX_MS:
        raise InvalidMessage(f"{field}={delay_ms!r} must be a whole number of milliseconds from 0 to ten years")
    return delay_ms


def words_of(error: BaseException) -> str:
    """An application's exception in its own words, even where those fail."""
    try:
        return "".join((str(error),))  # a plain str, whatever class of it was returned
    except BaseException as failed:
        return f"(its text cannot be had: {type(failed).__name__})"


class Outcome(Exception):
    """Base of the three; raise one of them from a listener."""


class Retry(Outcome):
    """Failed: deliver again in ``delay_ms`` milliseconds (None: the topic's back-off). Counts as an attempt.

    Raises `InvalidMessage` for a delay that is none.
    """

    def __init__(self, message: str = "", *, delay_ms: int | None = None) -> None:
        super().__init__(message)
        self.delay_ms = None if delay_ms is None else check_delay(delay_ms)


class Reject(Outcome):
    """Failed for good: a dead letter at once, whatever retries are left."""


class Release(Outcome):
    """Not now (overloaded, not ready): back to the queue after ``delay_ms``; does not count as an attempt.

    Raises `InvalidMessage` for a delay that is none.
    """

    def __init__(self, message: str = "", *, delay_ms: int = 0) -> None:
        super().__init__(message)
        self.delay_ms = check_delay(delay_ms)
