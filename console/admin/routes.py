"""Routes in the admin. They live in Redis: the list and the forms read and write them there, with the checks and the
conflicts of the page *Routes* and of REST."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from console.access import NEEDED, Action, Forbidden, Permission, allowed, missing
from console.admin.acting import actor_of
from console.admin.in_redis import InRedisAdmin
from console.admin.json_field import StrictJSONField
from console.errors import BadRequest
from console.models import RouteDefinition
from console.site import site
from console.templating import render
from console.usecases import routes
from rmq_core.errors import RMQError
from rmq_core.model.route import Route

_LIST = reverse_lazy("console_admin:console_routedefinition_changelist")
STARTS = (("end", _("with what comes from now on")), ("start", _("with all that the stream has")))


class RouteForm(forms.Form):
    """`wanted`, after it was found valid: the route it asks for, over `now` (None: a new one)."""

    name = forms.CharField(label=_("Name"), max_length=60, widget=UnfoldAdminTextInputWidget())
    source = forms.CharField(label=_("Source"), max_length=100, widget=UnfoldAdminTextInputWidget())
    targets = StrictJSONField(
        label=_("Targets"),
        help_text=_("A list in JSON, such as [{\"topic\": \"mail\", \"in_ms\": 60000}]; also priority, priority_from,"
                    " range_ms, when and key, as over REST."),
    )  # fmt: skip
    start = forms.ChoiceField(
        label=_("Begins"), choices=STARTS, widget=UnfoldAdminSelectWidget(), help_text=_("Of a stream.")
    )
    paused = forms.BooleanField(label=_("Paused"), required=False, widget=UnfoldBooleanSwitchWidget())
    description = forms.CharField(
        label=_("Description"), max_length=2_000, required=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3})
    )
    reason = forms.CharField(
        label=_("Reason"), max_length=500, required=False, widget=UnfoldAdminTextInputWidget(),
        help_text=_("It is kept in the audit."),
    )  # fmt: skip

    def __init__(self, now: Route | None, data: Any = None, *, changeable: bool = True) -> None:
        super().__init__(data, initial=now.to_dict() if now else {"targets": []})
        self.wanted: Route | None = None
        for name, field in self.fields.items():
            field.disabled = not changeable or (now is not None and name in ("name", "source", "start"))
        if not changeable:
            del self.fields["reason"]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if not self.errors:
            try:
                self.wanted = Route.from_mapping({name: each for name, each in given.items() if name != "reason"})
            except (RMQError, TypeError) as problem:
                self.add_error("targets", str(problem))
        return given


@admin.register(RouteDefinition, site=site)
class RouteDefinitionAdmin(InRedisAdmin):
    """A list out of Redis, and forms."""

    creates = edits = Action.PUT_ROUTE
    deletes = Action.DELETE_ROUTE
    audited_as = {"add": creates, "change": edits, "delete": deletes}
    change_form_template = add_form_template = "console/admin/route_form.html"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            return redirect("console:overview")
        term, error = request.GET.get("q", "").strip().lower(), None
        try:
            known = routes.read_all(request.user)
        except RMQError as problem:
            known, error = [], str(problem)
        shown = [
            (each, ", ".join(target.topic for target in each.route.targets))
            for each in sorted(known, key=lambda each: each.route.name)
            if term in " ".join([each.route.name, each.route.description, *routes.topics_of(each.route)]).lower()
        ]
        context = {
            **self.admin_site.each_context(request),
            "title": self.model._meta.verbose_name_plural,
            "rows": shown,
            "term": term,
            "error": error,
            "may_create": self.has_add_permission(request),
            "opts": self.model._meta,
        }
        return render(request, "console/admin/routes.html", context)

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self._form(request, None)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        route = _stored(request, object_id)
        return self._form(request, route) if route else redirect(_LIST)

    def delete_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        route = _stored(request, object_id)
        if route is None:
            return redirect(_LIST)
        if not self.has_delete_permission(request):
            raise PermissionDenied(missing(NEEDED[Action.DELETE_ROUTE]))
        error = None
        if request.method == "POST" and not _begun_with(request, route):
            error = routes.moved()
        elif request.method == "POST":
            try:
                routes.delete(actor_of(request), route.name, request.POST.get("reason", ""), seen=route)
            except (Forbidden, BadRequest, RMQError) as problem:
                error = str(problem)
            else:
                self.message_user(request, gettext("Deleted: %(topic)s") % {"topic": route.name}, messages.SUCCESS)
                return redirect(_LIST)
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Delete %(topic)s") % {"topic": route.name},
            "route": route,
            "said": {name: request.POST.get(name, getattr(route, name)) for name in ("version", "created_ms")},
            "error": error,
            "reason": request.POST.get("reason", ""),
            "opts": self.model._meta,
        }
        return render(request, "console/admin/route_delete.html", context)

    def history_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """What was done to it is in the audit."""
        return redirect("console:audit" if allowed(request.user, Permission.AUDIT) else _LIST)

    def _form(self, request: HttpRequest, now: Route | None) -> HttpResponse:
        may = self.may_save(request, now)
        form = RouteForm(now, request.POST if request.method == "POST" else None, changeable=may)
        if request.method == "POST" and form.is_valid() and form.wanted:
            if now and not _begun_with(request, now):
                form.add_error(None, routes.moved())
            else:
                try:
                    saved = routes.save(actor_of(request), form.wanted, now, form.cleaned_data["reason"]).route
                except (Forbidden, BadRequest, RMQError) as problem:
                    form.add_error(None, str(problem))
                else:
                    self.message_user(request, gettext("Saved: %(topic)s") % {"topic": saved.name}, messages.SUCCESS)
                    return redirect("console_admin:console_routedefinition_change", saved.name)
        begun_with = {name: request.POST[name] for name in ("version", "created_ms") if name in request.POST}
        sets = [(None, {"fields": list(form.fields)})]
        title = now.name if now else gettext("New route")
        return self.drawn(request, form, sets, now, title, may=may, said=begun_with)


def _begun_with(request: HttpRequest, route: Route) -> bool:
    """Whether the form was opened with this version of it."""
    return (request.POST.get("version"), request.POST.get("created_ms")) == (str(route.version), str(route.created_ms))


def _stored(request: HttpRequest, name: str) -> Route | None:
    """None of one that is not there, or not for them, or while Redis is away; the list says which."""
    try:
        return routes.stored(request.user, name)
    except RMQError:
        return None
