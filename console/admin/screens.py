"""Screens in the admin: what they show, a line each panel."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from console.access import Action, Permission, allowed
from console.admin.acting import actor_of
from console.admin.begun import BegunAdmin
from console.admin.figures import FigureAdmin
from console.admin.guarded import FORMS
from console.models import Screen
from console.site import site
from console.usecases import screens


@admin.register(Screen, site=site)
class ScreenAdmin(BegunAdmin, FigureAdmin):
    """Its link is made on the page *Screens*."""

    audited_as = dict.fromkeys(FORMS, Action.SCREEN)
    list_display = ("name", "title", "rotate_s", "theme", "shown_until", "username")
    search_fields = ("name", "title", "panels")
    fields = ("name", "title", "panels", "rotate_s", "theme")
    list_per_page = 50
    actions = ()

    @admin.display(description=_("its link works until"), ordering="link_until", empty_value="-")
    def shown_until(self, screen: Screen) -> datetime | None:
        return screen.link_until

    def save_model(self, request: HttpRequest, obj: Screen, form: Any, change: bool) -> None:
        screens.put(actor_of(request), obj)

    def delete_model(self, request: HttpRequest, obj: Screen) -> None:
        screens.remove(actor_of(request), obj, "deleted in the admin")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Permission.VIEW, "")  # a screen may show any topic

    def has_view_permission(self, request: HttpRequest, obj: Screen | None = None) -> bool:
        return allowed(request.user, Permission.VIEW, "")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.SCREEN)

    def has_change_permission(self, request: HttpRequest, obj: Screen | None = None) -> bool:
        return allowed(request.user, Action.SCREEN)

    def has_delete_permission(self, request: HttpRequest, obj: Screen | None = None) -> bool:
        return obj is not None and allowed(request.user, Action.SCREEN)
