"""The way out to the provider and back, and out of both at once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import requests
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect import views
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from console.models import SsoAccount
from console.site import sign_in_address, site
from console.sso import provider
from console.sso.options import PROVIDER, options
from console.sso.refusals import did_not_work
from console.sso.sealing import unseal

log = logging.getLogger("console.sso")


def login(request: HttpRequest, provider_id: str) -> HttpResponse:
    """On to the provider."""
    return _patiently(request, lambda: views.login(request, provider_id))


class _Door(views.OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """Keeps the token as it came: signing out there asks for it."""

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> Any:
        token.id_token = kwargs["response"].get("id_token", "")
        return super().complete_login(request, app, token, **kwargs)


def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Where the provider sends people back to."""
    if provider_id != PROVIDER:
        return _patiently(request, lambda: views.callback(request, provider_id))
    return _patiently(request, lambda: OAuth2CallbackView.adapter_view(_Door(request, provider_id))(request))


def _patiently(request: HttpRequest, view: Callable[[], HttpResponse]) -> HttpResponse:
    try:
        return view()
    except (requests.RequestException, ValueError, KeyError) as error:  # it does not answer, or not as it should
        log.warning("the provider of single sign-on is away: %s", type(error).__name__)
        return did_not_work(request)


def sign_out(request: HttpRequest) -> HttpResponse:
    """Of the console, and then at the provider, where it has a door for that."""
    row = SsoAccount.objects.filter(user_id=request.user.pk).first() if request.user.is_authenticated else None
    answer: HttpResponse = site.logout(request)
    sso = options()
    if row is None or sso is None or request.method != "POST":
        return answer
    try:
        door = provider.discovered(sso).get("end_session_endpoint")
    except provider.Away as error:
        log.warning("signed out here alone, for the provider is away: %s", error)
        door = None
    if not door:
        return redirect(sign_in_address())
    back = request.build_absolute_uri(sign_in_address())
    query = {"client_id": sso.client_id, "post_logout_redirect_uri": back}
    if hint := unseal(row.id_token):
        query["id_token_hint"] = hint
    return redirect(f"{door}{'&' if '?' in door else '?'}{urlencode(query)}")
