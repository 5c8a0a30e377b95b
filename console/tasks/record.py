"""What is kept of a task: its call, as the content of a message; its attempts, as what the message's listener tells."""

from __future__ import annotations

import time
import traceback
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from console.tasks.framework import end_of, json_size

PRIORITY_ABOVE = 1_000
"""Django's priorities, -100 to 100, are the queue's from 900 on."""
CALL_MAX = 131_072
VALUE_MAX = 65_536
"""Bytes as JSON, of the arguments and of a return value: both are kept together with the errors."""
ERRORS_MAX = 5
TRACEBACK_MAX = 8_000
"""Of the last errors, their ends are kept: so many bytes as JSON."""
WORKERS_MAX = 200
"""Of attempts, the workers of the last ones. All this fits into a progress, and beside call and value into a result."""


def now_ms() -> int:
    """The clock of this machine, as Django's other times."""
    return time.time_ns() // 1_000_000


def moment(ms: int | None) -> datetime | None:
    """As Django has times, aware or not."""
    if ms is None:
        return None
    at = datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)
    return at if settings.USE_TZ else timezone.make_naive(at)


def to_ms(at: datetime) -> int:
    """The first millisecond that is not before it."""
    return -int(-(at if timezone.is_aware(at) else timezone.make_aware(at)).timestamp() * 1000 // 1)


@dataclass
class Call:
    """What is to be run. The content of its message is this as JSON."""

    task: str
    args: list[Any]
    kwargs: dict[str, Any]
    backend: str
    queue: str
    priority: int
    enqueued_ms: int
    run_after_ms: int | None = None

    @classmethod
    def read(cls, told: Any) -> Call:
        """Of a content or a result; what a newer release adds is left out. Raises TypeError for what is none."""
        if not isinstance(told, dict):
            raise TypeError("it is no JSON object")
        found = cls(**{name: told[name] for name in cls.__dataclass_fields__ if name in told})
        if not (isinstance(found.task, str) and isinstance(found.args, list) and isinstance(found.kwargs, dict)):
            raise TypeError("task, args or kwargs are something else")
        return found

    def check(self) -> Call:
        """Raises ValueError where its arguments are too large."""
        if (size := json_size([self.args, self.kwargs])) > CALL_MAX:
            raise ValueError(
                f"the arguments of a task are at most {CALL_MAX:,} bytes as JSON, and these have {size:,}: pass the id"
                " of a row, or the name of a file"
            )
        return self

    def content(self) -> dict[str, Any]:
        """What people see in the console; nothing that says nothing."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass
class Attempts:
    """What became of it so far. Told as the message's progress, and with its end as its result."""

    worker_ids: list[str] = field(default_factory=list)
    running: bool = False
    """Whether the last one has begun and not ended, as far as it could tell."""
    started_ms: int | None = None
    last_ms: int | None = None
    finished_ms: int | None = None
    errors: list[tuple[str, str]] = field(default_factory=list)
    """Class and traceback."""
    errors_before: int = 0
    """Those that made room for later ones."""

    @classmethod
    def read(cls, told: Any) -> Attempts:
        """Of what a progress or a result says; nothing yet where that is something else."""
        if not isinstance(told, dict) or "worker_ids" not in told:
            return cls()
        values = {name: told[name] for name in cls.__dataclass_fields__ if name in told}
        found = cls(**values)
        found.errors = [(path, text) for path, text in found.errors]
        return found

    def begin(self, worker: str) -> None:
        """Another attempt."""
        self.last_ms = now_ms()
        self.started_ms = self.started_ms or self.last_ms
        self.finished_ms = None
        self.running = True
        self.worker_ids.append(worker)
        del self.worker_ids[:-WORKERS_MAX]

    def fail(self, error: BaseException) -> None:
        """The attempt raised that."""
        self.running = False
        kind = type(error)
        text = "".join(traceback.format_exception(error))
        self.add(f"{kind.__module__}.{kind.__qualname__}", end_of(text, TRACEBACK_MAX))

    def add(self, path: str, text: str) -> None:
        """Another error."""
        self.errors.append((path, text))
        self.errors_before += max(0, len(self.errors) - ERRORS_MAX)
        del self.errors[:-ERRORS_MAX]

    def told(self) -> dict[str, Any]:
        """As it is kept."""
        return asdict(self)
