"""django-allauth's hooks: who gets in, with which roles, and what those see who do not."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.signals import user_logged_in
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.providers.base import AuthProcess
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils.translation import gettext

from console.sso.claims import groups_of, merged
from console.sso.options import PROVIDER, Sso, options
from console.sso.people import by, remember
from console.sso.refusals import did_not_work, refusal
from console.usecases.people import note_created

log = logging.getLogger("console.sso")


class _Refused(ImmediateHttpResponse):  # type: ignore[misc]
    def __init__(self, *about: Any) -> None:
        super().__init__(refusal(*about))


class Adapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """For `SOCIALACCOUNT_ADAPTER`. An account is the provider's `sub`, never an address or a name that fits."""

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        sso = _ours(sociallogin)
        if sso is None:
            return
        if sociallogin.state.get("process", AuthProcess.LOGIN) != AuthProcess.LOGIN:
            raise ImmediateHttpResponse(did_not_work(request))  # accounts are not tied together
        sociallogin.email_addresses = []  # nobody is found by these, nor kept out
        user = sociallogin.user
        if sociallogin.is_existing and not user.is_active:
            raise _Refused(request, gettext("This account is switched off here."), user.get_username())
        if not sociallogin.is_existing and _taken(user):
            words = gettext("There is an account of this address here, which is not yours by single sign-on.")
            raise _Refused(request, words, user.get_username())
        if not groups_of(merged(sociallogin.account.extra_data), sso):
            words = gettext("You are known there, but nobody has given you a role here. Ask an administrator.")
            raise _Refused(request, words, user.get_username())

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        user, sso = super().save_user(request, sociallogin, form), _ours(sociallogin)
        if sso is not None:
            note_created(by(sso), user)
        return user

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None, extra_context: Any = None
    ) -> None:
        if getattr(provider.app, "provider_id", "") != PROVIDER:
            return
        log.warning("single sign-on failed: %s %s", error, type(exception).__name__ if exception else "")
        raise ImmediateHttpResponse(did_not_work(request))


@receiver(user_logged_in)
def _signed_in(sender: Any, request: HttpRequest, user: Any, **values: Any) -> None:
    sociallogin: Any = values.get("sociallogin")
    sso = _ours(sociallogin)
    if sso is not None:
        claims, token = merged(sociallogin.account.extra_data), sociallogin.token
        remember(user, claims, token.token_secret, getattr(token, "id_token", ""), sso)


def _ours(sociallogin: Any) -> Sso | None:
    """None also where a project lets people in through other doors of django-allauth."""
    return options() if sociallogin is not None and sociallogin.account.provider == PROVIDER else None


def _taken(user: Any) -> bool:
    """Where people are named by addresses somebody else may have that name; other names are made different."""
    people = type(user)
    if people.get_email_field_name() != people.USERNAME_FIELD:
        return False
    return bool(people.objects.filter(**{f"{people.USERNAME_FIELD}__iexact": user.get_username()}).exists())
