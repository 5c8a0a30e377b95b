"""What a busy machine does to a job: a Python process of Spark's comes too late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

LATE = "Python worker failed to connect back."


def late(*given: Any) -> Any:
    raise RuntimeError(LATE)


def fails_once(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, first: Callable[..., Any]
) -> list[tuple[Any, ...]]:
    """The first time ``first`` is called instead of a module's function; returns all that it was called with."""
    real, calls = getattr(module, name), list[tuple[Any, ...]]()

    def act(*given: Any, **more: Any) -> Any:
        calls.append(given)
        return (first if len(calls) == 1 else real)(*given, **more)

    monkeypatch.setattr(module, name, act)
    return calls
