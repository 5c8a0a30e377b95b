"""Users and roles, with Unfold's forms."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import RelatedFieldListFilter
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from console.access import in_scope
from console.admin.begun import BegunPeopleAdmin
from console.admin.words import APPS, of_permission, of_role
from console.config.passwords import by, note_new_password
from console.models.tokens import check_name
from console.site import site
from console.usecases import people

NAMES = ("name", "first_name", "last_name")
"""What pages show as it was typed; who signs in has a stricter one."""


class ForAllTopics(BegunPeopleAdmin):
    """Who is for some topics could else give themselves the others. Roles and permissions by their words."""

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and db_field.name in NAMES:
            field.validators = [*field.validators, check_name]
        return field

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest | None = None, **kwargs: Any) -> Any:
        field = super().formfield_for_manytomany(db_field, request, **kwargs)
        if field is not None and db_field.name == "groups":
            field.label_from_instance = of_role
        elif field is not None:
            field.queryset = field.queryset.filter(content_type__app_label__in=APPS)
            field.label_from_instance = of_permission
        return field

    def has_module_permission(self, request: HttpRequest) -> bool:
        return in_scope(request.user, "") and super().has_module_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return in_scope(request.user, "") and super().has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return in_scope(request.user, "") and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return in_scope(request.user, "") and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return in_scope(request.user, "") and super().has_delete_permission(request, obj)


class RoleFilter(RelatedFieldListFilter):
    """By the roles' words."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        return [(group.pk, of_role(group)) for group in Group.objects.order_by("name")]


@admin.register(User, site=site)
class UserAdmin(ForAllTopics, DjangoUserAdmin):  # type: ignore[type-arg,misc]  # at run time it has none
    """Whoever is made here may sign in; what they may do comes from the roles they are given."""

    audited_as = {"add": "create_user", "change": "edit_user", "delete": "delete_user",
                  "user_change_password": "set_password"}  # fmt: skip
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "first_name", "last_name", "roles", "is_active", "last_login")
    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": ("username", "usable_password", "password1", "password2")}),
        (_("Roles"), {"classes": ("wide",), "fields": ("groups",)}),
    )
    list_filter = ("is_active", ("groups", RoleFilter))
    filter_horizontal = ("groups", "user_permissions")

    @admin.display(description=_("roles"))
    def roles(self, user: User) -> str:
        return ", ".join(sorted(of_role(group) for group in user.groups.all())) or "-"

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("groups")

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        if change:
            form.before = people.standing_of(obj)
        else:
            obj.is_staff = True
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if change:
            people.note_edited(by(request), form.before, form.instance)
        else:
            people.note_created(by(request), form.instance)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        with note_new_password(request, unquote(id)):
            return super().user_change_password(request, id, form_url)

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        people.note_deleted(by(request), obj)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        with transaction.atomic():
            for user in queryset:
                people.note_deleted(by(request), user)
            super().delete_queryset(request, queryset)


@admin.register(Group, site=site)
class GroupAdmin(ForAllTopics, DjangoGroupAdmin):  # type: ignore[misc]  # its own form
    """Roles are Django groups."""

    audited_as = {"add": "create_role", "change": "edit_role", "delete": "delete_role"}
    list_display = ("role",)

    @admin.display(description=_("role"), ordering="name")
    def role(self, group: Group) -> str:
        return of_role(group)

    def save_model(self, request: HttpRequest, obj: Group, form: Any, change: bool) -> None:
        if change:
            form.before = people.standing_of_role(obj)
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if change:
            people.note_role_edited(by(request), form.before, form.instance)
        else:
            people.note_role_created(by(request), form.instance)

    def delete_model(self, request: HttpRequest, obj: Group) -> None:
        people.note_role_deleted(by(request), obj)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        with transaction.atomic():
            for role in queryset:
                people.note_role_deleted(by(request), role)
            super().delete_queryset(request, queryset)
