"""Rows become messages of the queue: in order within each lane, and one bad row spoils its own lane at most."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from console.outbox.rows import Row, message_of
from rmq_core.client.rmq import RMQ
from rmq_core.errors import (
    BacklogFull,
    ConfigurationError,
    ConnectionLost,
    MessageError,
    RMQError,
    ServerFull,
    TopicError,
)
from rmq_core.model.entry import AnyMessage

log = logging.getLogger("console.outbox")

AWAY = (ConnectionLost, ServerFull, ConfigurationError)
"""Of no row: nothing can be sent at all."""


@dataclass(frozen=True)
class Failure:
    """``for_good``: it can never be sent as it is. ``counts``: not where only the queue has no room."""

    error: str
    for_good: bool = False
    counts: bool = True
    wait_ms: int = 0


@dataclass
class Outcome:
    """What became of some rows. ``behind``: was not tried, because of a failure before it in its lane."""

    sent: list[Row] = field(default_factory=list)
    failed: list[tuple[Row, Failure]] = field(default_factory=list)
    behind: list[tuple[Row, Row]] = field(default_factory=list)
    untried: list[Row] = field(default_factory=list)
    away: RMQError | None = None


def deliver(client: RMQ, rows: Sequence[Row], now_ms: int, in_time: Callable[[], bool]) -> Outcome:
    """Send rows, which are in order. ``in_time``: asked before each topic; what comes too late is left untried."""
    outcome = Outcome()
    by_topic: dict[str, list[Row]] = {}
    for row in rows:
        by_topic.setdefault(row.topic, []).append(row)
    for topic, some in by_topic.items():
        if outcome.away is not None or not in_time():
            outcome.untried += some
            continue
        _Topic(client, topic, now_ms, outcome).send(some)
    return outcome


class _Topic:
    """The rows of one topic, on their way."""

    def __init__(self, client: RMQ, topic: str, now_ms: int, outcome: Outcome) -> None:
        self.client, self.topic, self.now_ms, self.outcome = client, topic, now_ms, outcome
        self.blocked: dict[int, Row] = {}
        """By lane: the row that has failed, and is to go first."""

    def send(self, rows: Sequence[Row]) -> None:
        made = []
        for row in rows:
            try:
                made.append((row, message_of(row, self.now_ms)))
            except Exception as error:  # whatever a row holds is of that row alone
                self._failed(row, Failure(str(error), for_good=True))
        if not made:
            return
        try:
            self.client.send_many(self.topic, [message for _, message in made], allow_past=True)
        except MessageError:
            self._one_by_one(made)  # nothing was sent: all of a batch are looked at before the first goes
        except Exception as error:
            self._all(made, error)
        else:
            self.outcome.sent += [row for row, _ in made]

    def _all(self, made: Sequence[tuple[Row, AnyMessage]], error: Exception) -> None:
        """An error that is not of one row. What may have been sent is sent again: at least once."""
        unsent = {id(message) for message in error.unsent} if isinstance(error, BacklogFull) else set()
        for row, message in made:
            if unsent and id(message) not in unsent:
                self.outcome.sent.append(row)
            else:
                self._one_failed(row, error)

    def _one_by_one(self, made: Sequence[tuple[Row, AnyMessage]]) -> None:
        for row, message in made:
            if self.outcome.away is not None:
                self.outcome.untried.append(row)
            elif row.lane in self.blocked:
                self._behind(row)
            else:
                try:
                    self.client.send(self.topic, message, allow_past=True)
                except Exception as error:
                    self._one_failed(row, error)
                else:
                    self.outcome.sent.append(row)

    def _one_failed(self, row: Row, error: Exception) -> None:
        said = f"{type(error).__name__}: {error}"
        if isinstance(error, AWAY):
            self.outcome.away = error
            self.outcome.untried.append(row)
        elif row.lane in self.blocked:
            self._behind(row)
        elif isinstance(error, BacklogFull):
            self._failed(row, Failure(said, counts=False, wait_ms=error.retry_after_ms))
        elif isinstance(error, MessageError):
            self._failed(row, Failure(said, for_good=True))
        else:
            if not isinstance(error, TopicError):
                log.warning("row %d for topic %s was not sent", row.id, self.topic, exc_info=error)
            self._failed(row, Failure(said))

    def _failed(self, row: Row, failure: Failure) -> None:
        self.outcome.failed.append((row, failure))
        if not failure.for_good:
            self.blocked[row.lane] = row

    def _behind(self, row: Row) -> None:
        self.outcome.behind.append((row, self.blocked[row.lane]))
