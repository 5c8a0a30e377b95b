"""The Chromium of this machine."""

from __future__ import annotations

import shutil

NAMES = ("chromium-headless-shell", "chromium")
"""The shell first: it has the same pages and no window around them, which would be two thirds of the work."""


def chromium() -> str | None:
    """Its program, where there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)
