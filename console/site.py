"""The console's own admin site: Unfold's, opening on the overview, whatever admin the project has beside it."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.urls import NoReverseMatch, get_script_prefix, is_valid_path, path, reverse
from django.utils.translation import gettext
from unfold.sites import UnfoldAdminSite

from console import navigation, palette
from console.layout import LAYOUT
from console.preferences import as_chosen_by, rendered
from console.templating import in_layout

NAME = "console_admin"
_FRAME: dict[str, Any] = LAYOUT | {
    "COMMAND": LAYOUT["COMMAND"] | {"search_models": False, "search_callback": palette.search}
}


class ConsoleSite(UnfoldAdminSite):
    """Its index is the overview, since that is what people come for; people sign in where the project lets them."""

    login_template = "console/signin.html"
    settings_name = "RMQ_CONSOLE_UNFOLD"  # nobody's: what surrounds a page is in `console.layout`

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        address = sign_in_address()
        if address != request.path:
            return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME) or reverse("console:overview"), address)
        return self.sign_in(request, extra_context)

    def sign_in(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Unfold's page for that."""
        answer: HttpResponse = in_layout(super().login(request, extra_context))
        return answer

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return redirect("console:overview")

    def records(self, request: HttpRequest) -> Any:
        """Everything that has a list here: what other sites have as their index."""
        return super().index(request, {"title": gettext("Records")})

    def get_urls(self) -> list[Any]:
        return [path("records/", self.admin_view(self.records), name="records"), *super().get_urls()]

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        inner = super().admin_view(view, cacheable)

        @functools.wraps(inner)
        def framed(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            request.current_app = self.name  # the addresses in what surrounds the page are of this site
            with as_chosen_by(request.user) as chosen:
                try:
                    answer = in_layout(inner(request, *args, **kwargs))
                except PermissionDenied:
                    if refused := getattr(getattr(view, "__self__", None), "refused", None):  # an admin of ours
                        refused(request, view.__name__, *kwargs.values())
                    raise
                return rendered(answer) if chosen else answer

        return framed

    def _get_account_links(self, request: HttpRequest) -> list[dict[str, Any]]:
        return navigation.account_links(request)

    def _get_config(self, key: str, *args: Any) -> Any:
        value = _FRAME.get(key)
        return self._get_value(copy.deepcopy(value), *args) if value else None

    def _get_list(self, key: str, *args: Any) -> list[Any]:
        return [self._get_value(item, *args) for item in _FRAME[key]]


site = ConsoleSite(NAME)


def sign_in_address() -> str:
    """Where people sign in: `LOGIN_URL`, or the admin's page where that leads nowhere."""
    try:
        address = resolve_url(settings.LOGIN_URL)
    except NoReverseMatch:
        address = ""
    local = "/" + urlsplit(address).path.removeprefix(get_script_prefix())
    if address and (urlsplit(address).netloc or is_valid_path(local)):
        return address
    return reverse("admin:login")
