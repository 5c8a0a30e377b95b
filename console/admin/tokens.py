"""API tokens: made here, shown once, revoked here."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminTextInputWidget

from console.access import Action, account_of, allowed, split_patterns
from console.admin.figures import FigureAdmin
from console.models import ApiToken
from console.site import site
from console.usecases import tokens
from console.usecases.audit import note
from console.usecases.tokens import DAYS_DEFAULT, DAYS_MAX
from rmq_core.figures import digits

SECRET_COOKIE = "rmq_new_token"
SECRET_S = 60
"""How long the way from making a token to reading it may take."""


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]  # at run time it has none
    """Checks what a field alone cannot."""

    class Meta:
        model = ApiToken
        fields = ("name", "role", "topics", "rate_per_minute", "expires_at")
        widgets = {"topics": UnfoldAdminTextInputWidget}

    def clean_topics(self) -> str:
        return ", ".join(split_patterns(self.cleaned_data["topics"]))

    def clean_expires_at(self) -> Any:
        until = self.cleaned_data["expires_at"]
        now = timezone.now()
        if not now < until <= now + timedelta(days=DAYS_MAX):
            raise ValidationError(gettext("Choose a moment in the next two years."))
        return until


@admin.register(ApiToken, site=site)
class ApiTokenAdmin(FigureAdmin):
    """Nothing of a token can be changed later: what it may do is what its maker saw when giving it away."""

    audited_as = {"add": "create_token", "revoke": "revoke_token"}
    form = TokenForm
    list_display = ("name", "prefix", "role", "topics", "shown_state", "expires_at", "last_used_at", "created_by")
    list_filter = (("role", ChoicesDropdownFilter),)
    search_fields = ("name", "prefix")
    actions = ("revoke",)
    list_per_page = 50

    def get_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:
        made = ("prefix", "shown_state", "created_at", "created_by", "revoked_at", "last_used_at", "last_used_from")
        return (*TokenForm.Meta.fields, *(made if obj else ()))

    def get_readonly_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:
        return self.get_fields(request, obj) if obj else ()

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        # The page after saving is the one that shows the secret, whatever else there could be to do.
        context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().render_change_form(request, context, *args, **kwargs)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {
            "expires_at": timezone.now() + timedelta(days=DAYS_DEFAULT),
            **super().get_changeform_initial_data(request),
        }

    @display(description=_("state"), label={"active": "success", "expired": "warning", "revoked": "danger"})
    def shown_state(self, token: ApiToken) -> tuple[str, str]:
        return token.state.value, str(token.state.label)

    @action(description=_("Revoke the selected tokens"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        with transaction.atomic():
            ended = [token for token in queryset if tokens.revoke(token)]
            for token in ended:
                _write_down(request, "revoke_token", token)
        text = ngettext("%(count)s token was revoked.", "%(count)s tokens were revoked.", len(ended))
        self.message_user(request, text % {"count": digits(len(ended))}, messages.SUCCESS)

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:
        obj.created_by = account_of(request.user)  # type: ignore[assignment]
        request.api_secret = tokens.give_secret(obj)  # type: ignore[attr-defined]
        super().save_model(request, obj, form, change)
        _write_down(request, "create_token", obj)

    def response_add(self, request: HttpRequest, obj: ApiToken, post_url_continue: str | None = None) -> HttpResponse:
        """On to the page that shows the secret: reloading that one makes no second token.

        The secret goes there with the browser itself, in a cookie for that page alone: nothing here keeps it.
        """
        address = reverse("console_admin:console_apitoken_secret", args=[obj.pk])
        answer = redirect(address)
        answer.set_cookie(
            SECRET_COOKIE,
            request.api_secret,  # type: ignore[attr-defined]
            max_age=SECRET_S,
            path=address,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Strict",
        )
        return _uncached(request, answer)

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(self.secret_view)
        return [path("<int:number>/secret/", page, name="console_apitoken_secret"), *super().get_urls()]

    def secret_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """The one page that shows a secret: once, and the browser does not keep it."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        token = get_object_or_404(ApiToken, pk=number)
        given = request.COOKIES.get(SECRET_COOKIE, "")
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("API token"),
            "opts": self.model._meta,
            "token": token,
            "secret": given if constant_time_compare(tokens.digest_of(given), token.digest) else "",
        }
        answer = TemplateResponse(request, "admin/console/apitoken/secret.html", context)
        answer.delete_cookie(SECRET_COOKIE, path=request.path, samesite="Strict")
        return _uncached(request, answer)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.TOKENS)

    def has_view_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return allowed(request.user, Action.TOKENS)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.TOKENS)

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.TOKENS)


def _uncached(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    answer: HttpResponse = never_cache(lambda _request: response)(request)
    return answer


def _write_down(request: HttpRequest, name: str, token: ApiToken) -> None:
    note(
        name,
        username=request.user.get_username(),
        user=account_of(request.user),
        query={"token": str(token), "role": token.role, "topics": token.topics},
        done=1,
        address=request.META.get("REMOTE_ADDR") or None,
    )
