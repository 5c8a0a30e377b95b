"""Topic definitions and their history in the admin.

Definitions live in Redis, and there is one form for them, with its plan and its conflicts: the list here leads to it.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display

from console.access import Action, Permission, User, allowed, in_scope, rows_in_scope
from console.admin.audit import pretty
from console.engine import engine
from console.models import TopicDefinition, TopicRevision
from console.pages.topic import KINDS
from console.site import site
from console.templating import render
from console.usecases import topic_history
from rmq_core.errors import RMQError

PER_PAGE = 100


@admin.register(TopicDefinition, site=site)
class TopicDefinitionAdmin(ModelAdmin):
    """A list out of Redis; adding, changing and deleting are the console's pages."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            return redirect("console:overview")
        error = None
        try:
            topics = [topic for topic in engine().inspector.topics() if in_scope(request.user, topic.name)]
        except RMQError as problem:
            topics, error = [], str(problem)
        term = request.GET.get("q", "").strip().lower()
        found = Paginator([topic for topic in topics if term in topic.name.lower()], PER_PAGE)
        shown = found.get_page(request.GET.get("p"))
        newest = topic_history.newest([topic.name for topic in shown])
        rows = [(topic, KINDS[topic.kind], newest.get(topic.name)) for topic in shown]
        context = {
            **self.admin_site.each_context(request),
            "title": self.model._meta.verbose_name_plural,
            "rows": rows,
            "page": shown,
            "term": term,
            "error": error,
            "may_create": allowed(request.user, Action.CREATE_TOPIC),
            "opts": self.model._meta,
        }
        return render(request, "console/admin/topics.html", context)

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return redirect("console:define")

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        return _to_form(request.user, object_id)

    def delete_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        return _to_form(request.user, object_id)

    def history_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        return _to_form(request.user, object_id)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Action.CREATE_TOPIC)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, Action.EDIT_TOPIC)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, Action.DELETE_TOPIC)


@admin.register(TopicRevision, site=site)
class TopicRevisionAdmin(ModelAdmin):
    """The history of every topic, to look at."""

    list_display = ("topic", "version", "change", "who", "via", "reason")
    list_filter = ("change", "via")
    search_fields = ("topic", "username", "reason")
    fields = ("topic", "version", "change", "who", "via", "reason", "shown_difference", "shown_definition")
    readonly_fields = fields
    list_per_page = 50
    show_full_result_count = False

    @display(description=_("who"))
    def who(self, revision: TopicRevision) -> str:
        return revision.username or "–"

    @display(description=_("difference"))
    def shown_difference(self, revision: TopicRevision) -> str:
        return pretty(revision.difference)

    @display(description=_("definition"))
    def shown_definition(self, revision: TopicRevision) -> str:
        return pretty(revision.definition)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).filter(rows_in_scope(request.user))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, Permission.VIEW)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def _to_form(user: User, name: str) -> HttpResponse:
    try:
        known = {topic.name for topic in engine().inspector.topics() if in_scope(user, topic.name)}
    except RMQError:
        known = set()  # the list says that Redis is away
    if name not in known:
        return redirect(reverse("console_admin:console_topicdefinition_changelist"))
    return redirect("console:topic-tab", topic=name, tab="definition")
