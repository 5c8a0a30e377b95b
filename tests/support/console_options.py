"""Changes to the console's one dictionary of settings, for one test."""

from __future__ import annotations

from typing import Any


def set_options(settings: Any, **changes: Any) -> None:
    """Of the fixture `settings`, which puts them back."""
    settings.RMQ_CONSOLE = {**settings.RMQ_CONSOLE, **changes}
