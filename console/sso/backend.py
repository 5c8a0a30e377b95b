"""Who somebody is that has come by single sign-on, asked for with each request and by each live socket."""

from __future__ import annotations

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from asgiref.sync import sync_to_async

from console.sso import people


class Backend(AuthenticationBackend):  # type: ignore[misc]
    """For `AUTHENTICATION_BACKENDS`. django-allauth writes it into the session of whoever comes so."""

    def authenticate(self, request: Any, **credentials: Any) -> None:
        """Nobody, by a password."""

    def get_user(self, user_id: Any) -> Any:
        user = super().get_user(user_id)
        return user if user is not None and people.still_there(user) else None

    async def aget_user(self, user_id: Any) -> Any:
        return await sync_to_async(self.get_user)(user_id)
