"""Who acts: on a page, by the API, or on a schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from console.access import User, account_of


@dataclass(frozen=True)
class Actor:
    """Who acts, and from where."""

    user: User
    address: str | None = None
    via: str = "page"


class Started(Protocol):
    """What somebody has started: `user`, where that was an account that is still there, and what they were called."""

    user_id: int | None
    username: str


def started(user: User, what: Started) -> bool:
    """Whether it was this account, whatever it is called by now; a token is told by its name."""
    if (account := account_of(user)) is not None:
        return bool(what.user_id == account.pk)
    return what.user_id is None and what.username == user.get_username()
