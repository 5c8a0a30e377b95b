"""Topics of roles in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from console.access import Action, allowed
from console.admin.acting import actor_of
from console.admin.begun import BegunAdmin
from console.admin.guarded import FORMS
from console.admin.words import of_role
from console.models import TopicScope
from console.site import site
from console.usecases import scopes


@admin.register(TopicScope, site=site)
class TopicScopeAdmin(BegunAdmin):
    """For administrators of all topics alone: who is for some could else take more."""

    audited_as = dict.fromkeys(FORMS, Action.TOPIC_SCOPE)
    list_display = ("role", "patterns")
    search_fields = ("group__name", "patterns")
    fields = ("group", "patterns")
    list_per_page = 50
    actions = ()

    @admin.display(description=_("role"), ordering="group__name")
    def role(self, scope: TopicScope) -> str:
        return of_role(scope.group)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        if field is not None and db_field.name == "group":
            field.label_from_instance = of_role
        return field

    def save_model(self, request: HttpRequest, obj: TopicScope, form: Any, change: bool) -> None:
        scopes.put(actor_of(request), obj)

    def delete_model(self, request: HttpRequest, obj: TopicScope) -> None:
        scopes.remove(actor_of(request), obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.TOPIC_SCOPE)

    def has_view_permission(self, request: HttpRequest, obj: TopicScope | None = None) -> bool:
        return allowed(request.user, Action.TOPIC_SCOPE)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.TOPIC_SCOPE)

    def has_change_permission(self, request: HttpRequest, obj: TopicScope | None = None) -> bool:
        return allowed(request.user, Action.TOPIC_SCOPE)

    def has_delete_permission(self, request: HttpRequest, obj: TopicScope | None = None) -> bool:
        # One by one: each is recorded in the audit.
        return obj is not None and allowed(request.user, Action.TOPIC_SCOPE)
