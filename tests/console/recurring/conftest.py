"""The clock of the database, set by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from console.outbox import clients
from tests.console.conftest import Queue
from tests.console.recurring.defined import Clock


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch, settings: Any, queue: Queue) -> Iterator[Clock]:
    settings.RMQ_OUTBOX = {"FAST_PATH": False}
    yield Clock(monkeypatch)
    for client in (clients.quick, clients.patient):
        client().close()
