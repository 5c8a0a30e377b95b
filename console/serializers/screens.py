"""Screens as JSON; the link is in none of it."""

from __future__ import annotations

from typing import Any

from console.clock import ms_of
from console.models import Screen


def screen_json(screen: Screen) -> dict[str, Any]:
    return {
        **{name: getattr(screen, name) for name in ("name", "title", "panels", "rotate_s", "theme", "username")},
        "linked": screen.has_link,
        "link_until_ms": ms_of(screen.link_until),
        "link_by": screen.link_by,
    }
