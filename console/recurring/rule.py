"""When a recurring message is due: a cron expression in a time zone, or an interval. Values, without a database."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice, takewhile
from typing import Any, Literal

from cronsim import CronSimError

from console.outbox.rows import row_of
from console.recurring.cron import Cron
from console.zones import zone_of
from rmq_core.errors import InvalidMessage, RMQError
from rmq_core.figures import number
from rmq_core.model.composing import Content
from rmq_core.model.message import DUE_MAX_MS
from rmq_core.model.outcomes import DELAY_MAX_MS
from rmq_core.model.tenants import check_tenant
from rmq_core.model.text import NotText, check_name, check_text
from rmq_core.model.topic import MAX_UNIQUE_MS, NAME

EVERY_LEAST_MS = 1_000
EVERY_MOST_MS = 366 * 86_400_000
JITTER_MOST_MS = 3_600_000
NAME_MAX = 100
TEXT_MAX = 500
CRON_MAX = 100
COUNTED_MOST = 5_000
"""Of a cron expression: to count on would keep everybody waiting."""
WHENS = ("priority", "range_ms", "in_ms")
OPTIONS = ("expires_ms", "unique_for_ms")
Misfire = Literal["skip", "once", "all"]
MISFIRES: tuple[Misfire, ...] = ("skip", "once", "all")


class InvalidRecurring(ValueError):
    """A definition that cannot be; `problems`: by field, for people."""

    def __init__(self, problems: dict[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {text}" for name, text in problems.items()))
        self.problems = problems


@dataclass(frozen=True, kw_only=True)
class Recurring:
    """A message that is sent again and again.

        Recurring(name="daily-summary", topic="mail", content={"kind": "summary"}, priority=500,
                  cron="0 7 * * MON-FRI", time_zone="Europe/Berlin", misfire="once")

    ``cron``: five fields, or six with seconds first; or ``every_ms`` instead. Exactly one of ``priority``,
    ``range_ms`` and ``in_ms`` says what the topic's kind asks for. ``jitter_ms``: each tick comes up to so much later,
    always the same one as late. ``misfire``: what becomes of ticks that nobody was there to send: none of them is sent
    (skip), the last (once), or each (all). ``start_ms``, ``end_ms``: no tick before, none after. ``expires_ms``,
    ``unique_for_ms``, ``tenant``: of each tick's message, as of `RMQ.send`; None, "": as its topic says. Raises
    `InvalidRecurring`.
    """

    name: str
    topic: str
    content: Content
    cron: str = ""
    every_ms: int | None = None
    time_zone: str = "UTC"
    jitter_ms: int = 0
    misfire: Misfire = "once"
    start_ms: int | None = None
    end_ms: int | None = None
    priority: int | None = None
    range_ms: int | None = None
    in_ms: int | None = None
    expires_ms: int | None = None
    unique_for_ms: int | None = None
    tenant: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        if problems := dict(self._problems()):
            raise InvalidRecurring(problems)

    @property
    def when(self) -> dict[str, int]:
        """The keyword that sends it."""
        return {name: value for name in WHENS if (value := getattr(self, name)) is not None}

    @property
    def options(self) -> dict[str, Any]:
        """The same, with what each message says of itself."""
        own = {name: getattr(self, name) for name in OPTIONS} | {"tenant": self.tenant or None}
        return {**self.when, **{name: value for name, value in own.items() if value is not None}}

    def ticks(self, after_ms: int) -> Iterator[int]:
        """Its ticks later than that, in order."""
        tick = self.next_tick(after_ms)
        while tick is not None:
            yield tick
            tick = self.next_tick(tick)

    def next_tick(self, after_ms: int) -> int | None:
        """The first one later than that; None where there is none."""
        if self.start_ms is not None:
            after_ms = max(after_ms, self.start_ms - 1)
        tick = self._next_by_interval(after_ms) if self.every_ms else self._next_by_cron(after_ms)
        return None if tick is None or (self.end_ms is not None and tick > self.end_ms) else tick

    def last_ticks(self, first_ms: int, until_ms: int, most: int) -> tuple[list[int], int]:
        """Of one and those after it, not later than ``until_ms``, the last so many, in order; and how many there are
        (up to `COUNTED_MOST`).

        The first one counts also where the rules of its zone have changed since it was planned.
        """
        if self.every_ms:
            until_ms = until_ms if self.end_ms is None else min(until_ms, self.end_ms)
            count = max(0, until_ms - first_ms) // self.every_ms + 1
            return [first_ms + number * self.every_ms for number in range(max(0, count - most), count)], count
        found = [first_ms, *islice(self._until(first_ms, until_ms), COUNTED_MOST - 1)]
        window_ms = most * EVERY_LEAST_MS
        while len(found) == COUNTED_MOST:  # from an end that is closer, as far back as it has to be
            last = list(self._until(until_ms - window_ms, until_ms))
            if len(last) >= most:
                return last[-most:], COUNTED_MOST
            window_ms *= 2
        return found[-most:], len(found)

    def _until(self, after_ms: int, until_ms: int) -> Iterator[int]:
        return takewhile(lambda tick: tick <= until_ms, self.ticks(after_ms))

    def due_ms(self, tick_ms: int) -> int:
        """When a tick is sent, by its jitter."""
        if not self.jitter_ms:
            return tick_ms
        drawn = int.from_bytes(blake2b(f"{self.name}@{tick_ms}".encode(), digest_size=8).digest(), "big")
        return tick_ms + drawn % (self.jitter_ms + 1)

    def key(self, tick_ms: int) -> str:
        """The id of a tick's message: where one is sent twice, both are one."""
        return f"{self.name}@{datetime.fromtimestamp(tick_ms / 1000, UTC).isoformat(timespec='milliseconds')}"

    def _next_by_interval(self, after_ms: int) -> int:
        assert self.every_ms
        begin = self.start_ms or 0
        return begin + max(0, -(-(after_ms + 1 - begin) // self.every_ms)) * self.every_ms

    def _next_by_cron(self, after_ms: int) -> int | None:
        zone = zoneinfo.ZoneInfo(self.time_zone)
        try:
            found = Cron(self.cron, datetime.fromtimestamp(after_ms // 1000, zone))
            # In an hour that comes a second time it begins with the first one, which is over.
            return next(tick for each in found if (tick := round(each.timestamp() * 1000)) > after_ms)
        except (CronSimError, StopIteration, OverflowError):
            return None

    def _problems(self) -> Iterator[tuple[str, str]]:
        yield from self._bad_texts()
        if bool(self.cron) == bool(self.every_ms):
            yield "cron", "give either a cron expression or an interval"
        for name, low, high in (
            ("every_ms", EVERY_LEAST_MS, EVERY_MOST_MS),
            ("jitter_ms", 0, JITTER_MOST_MS),
            ("start_ms", 0, DUE_MAX_MS),
            ("end_ms", 0, 2**53),
            ("expires_ms", 0, DELAY_MAX_MS),
            ("unique_for_ms", 0, MAX_UNIQUE_MS),
        ):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not low <= value <= high):
                yield name, f"must be a whole number from {number(low)} to {number(high)}"
        if self.misfire not in MISFIRES:
            yield "misfire", f"must be one of {', '.join(MISFIRES)}"
        if not isinstance(self.time_zone, str) or zone_of(self.time_zone) is None:
            yield "time_zone", f"there is no time zone {self.time_zone!r:.60}"
        elif self.cron:
            yield from self._bad_cron()
        if isinstance(self.content, bytes) or (isinstance(self.content, str) and "\0" in self.content):
            yield "content", "must be text without U+0000, or JSON: a definition is kept in a database"
        if len(self.when) != 1:
            yield "priority", "say one of priority, range_ms and in_ms, as the topic's kind asks for"
            return
        try:
            row_of(self.topic, self.content, self.when)  # type: ignore[arg-type]
        except (RMQError, TypeError) as error:
            yield "content", str(error)

    def _bad_texts(self) -> Iterator[tuple[str, str]]:
        for name, check, most in (("name", check_name, NAME_MAX), ("description", check_text, TEXT_MAX)):
            try:
                check(getattr(self, name), most)
            except NotText as error:
                yield name, str(error)
        try:
            check_tenant(self.tenant)
        except InvalidMessage as error:
            yield "tenant", str(error)
        if isinstance(self.name, str) and {*self.name} & {*"/:"}:
            yield "name", "must not hold / or :, which mean something in addresses"
        if not isinstance(self.topic, str) or NAME.fullmatch(self.topic) is None:
            yield "topic", "is no name of a topic"

    def _bad_cron(self) -> Iterator[tuple[str, str]]:
        if isinstance(self.cron, str) and len(self.cron) > CRON_MAX:
            yield "cron", f"must be text of at most {CRON_MAX} characters"
            return
        try:
            Cron(self.cron, datetime(2026, 1, 1, tzinfo=UTC))
        except (CronSimError, TypeError, AttributeError) as error:
            yield "cron", f"is no cron expression: {error}"


def upcoming(rule: Recurring, after_ms: int, count: int) -> list[int]:
    """Its next ticks."""
    return list(islice(rule.ticks(after_ms), count))
