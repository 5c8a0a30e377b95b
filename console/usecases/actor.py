"""Who acts: on a page, by the API, or on a schedule."""

from __future__ import annotations

from dataclasses import dataclass

from console.access import User


@dataclass(frozen=True)
class Actor:
    """Who acts, and from where."""

    user: User
    address: str | None = None
    via: str = "page"
