"""What lives in Redis and has forms in the admin: no table is read, and roles say who may do what."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.admin.helpers import AdminForm
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import HttpRequest, HttpResponse

from console.access import NEEDED, Action, Permission, allowed, missing
from console.admin.guarded import GuardedAdmin


class InRedisAdmin(GuardedAdmin):
    """`creates`, `edits` and `deletes`: what somebody must be allowed to do."""

    creates: ClassVar[Action]
    edits: ClassVar[Action]
    deletes: ClassVar[Action]

    def may_save(self, request: HttpRequest, now: Any) -> bool:
        """Whether a form is for more than looking. Raises `PermissionDenied` where it is not even that."""
        may = self.has_change_permission(request) if now else self.has_add_permission(request)
        if not self.has_view_permission(request):
            raise PermissionDenied(missing(Permission.VIEW))
        if not may and (now is None or request.method == "POST"):
            raise PermissionDenied(missing(NEEDED[self.edits]))
        return may

    def drawn(
        self, request: HttpRequest, form: Form, sets: Any, now: Any, title: str, *, may: bool, said: dict[str, Any]
    ) -> HttpResponse:
        """The page of a form. `now`: what is stored, with its name, version and time (None: a new one)."""
        row = self.model(name=now.name) if now else None
        context = {
            **self.admin_site.each_context(request),
            "version": now.version if now else 0,
            "created_ms": now.created_ms if now else 0,
            **said,
            "title": title,
            "adminform": AdminForm(form, sets, {}, (), self),  # type: ignore[arg-type]
            "media": self.media + form.media,
            "errors": form.errors,
            "inline_admin_formsets": [],
            "original": row,
            "object_id": now and now.name,
            "is_popup": False,
            "to_field": None,
            "show_save": may,
            "show_save_and_continue": False,
            "show_save_and_add_another": False,
            "show_close": not may,
        }
        answer: HttpResponse = self.render_change_form(
            request, context, add=now is None, change=now is not None, obj=row
        )
        return answer

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, self.creates)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, self.edits)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, self.deletes)
