"""Topic definitions and their history in the admin.

Definitions live in Redis: the list and the forms here read and write them there, with the checks, the plan and the
conflicts of the console's own form.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse, reverse_lazy
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from console.access import NEEDED, Action, Forbidden, Permission, User, allowed, in_scope, missing, rows_in_scope
from console.admin.acting import actor_of
from console.admin.audit import pretty
from console.admin.guarded import GuardedAdmin
from console.admin.in_redis import InRedisAdmin
from console.admin.topic_form import TopicForm, seal
from console.engine import engine
from console.errors import BadRequest
from console.models import TopicDefinition, TopicRevision
from console.pages.topic import KINDS
from console.site import site
from console.templating import render
from console.usecases.definitions import revisions as topic_history
from console.usecases.definitions import topics
from console.usecases.definitions.plan import change_plan, deletion_plan
from rmq_core.errors import RMQError
from rmq_core.figures import number
from rmq_core.model.topic import Topic, TopicKind

PER_PAGE = 100
_LIST = reverse_lazy("console_admin:console_topicdefinition_changelist")


@admin.register(TopicDefinition, site=site)
class TopicDefinitionAdmin(InRedisAdmin):
    """A list out of Redis, and forms; before anything is saved, they show what that would do."""

    creates, edits, deletes = Action.CREATE_TOPIC, Action.EDIT_TOPIC, Action.DELETE_TOPIC
    audited_as = {"add": creates, "change": edits, "delete": deletes}
    add_form_template = change_form_template = "console/admin/topic_form.html"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            return redirect("console:overview")
        error = None
        try:
            known = [topic for topic in engine().inspector.topics() if in_scope(request.user, topic.name)]
        except RMQError as problem:
            known, error = [], str(problem)
        term = request.GET.get("q", "").strip().lower()
        kind, state = request.GET.get("kind", ""), request.GET.get("state", "")
        matching = [
            topic
            for topic in known
            if term in f"{topic.name} {topic.description}".lower()
            and (not kind or topic.kind == kind)
            and (not state or topic.paused == (state == "paused"))
        ]
        found = Paginator(matching, PER_PAGE)
        shown = found.get_page(request.GET.get("p"))
        newest = topic_history.newest([topic.name for topic in shown])
        rows = [(topic, KINDS[topic.kind], number(topic.slots), newest.get(topic.name)) for topic in shown]
        places = {"first": shown.start_index(), "last": shown.end_index(), "all": found.count}
        context = {
            **self.admin_site.each_context(request),
            "title": self.model._meta.verbose_name_plural,
            "rows": rows,
            "page": shown,
            "places": {name: number(place) for name, place in places.items()},
            "term": term,
            "kind": kind,
            "kinds": [(each.value, KINDS[each]) for each in TopicKind],
            "state": state,
            "error": error,
            "may_create": allowed(request.user, Action.CREATE_TOPIC),
            "opts": self.model._meta,
        }
        return render(request, "console/admin/topics.html", context)

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self._form(request, None)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        topic = _stored(request.user, object_id)
        return self._form(request, topic) if topic else redirect(_LIST)

    def delete_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        topic = _stored(request.user, object_id)
        if topic is None:
            return redirect(_LIST)
        if not self.has_delete_permission(request):
            raise PermissionDenied(missing(NEEDED[Action.DELETE_TOPIC]))
        plan, error = deletion_plan(topic), None
        given = {name: request.POST.get(name, "") for name in ("reason", "confirm", "holds")}
        if request.method == "POST" and not _begun_with(request, topic):
            error = moved()
        elif request.method == "POST":
            try:
                # What came into a topic that was shown to hold nothing goes with it only once somebody was told.
                force = given["holds"] == "yes"
                topics.delete(actor_of(request), topic.name, given["reason"], force, given["confirm"], topic)
            except (Forbidden, BadRequest, RMQError) as problem:
                error = str(problem)
            else:
                self.message_user(request, gettext("Deleted: %(topic)s") % {"topic": topic.name}, messages.SUCCESS)
                return redirect(_LIST)
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Delete %(topic)s") % {"topic": topic.name},
            "topic": topic,
            "plan": plan,
            "holds": plan.severity == "danger",
            "error": error,
            "reason": given["reason"],
            "opts": self.model._meta,
        }
        return render(request, "console/admin/topic_delete.html", context)

    def history_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        if _stored(request.user, object_id) is None:
            return redirect(_LIST)
        query = urlencode({"topic": object_id})
        return redirect(f"{reverse('console_admin:console_topicrevision_changelist')}?{query}")

    def _form(self, request: HttpRequest, now: Topic | None) -> HttpResponse:
        may = self.may_save(request, now)
        form = TopicForm(now, request.POST if request.method == "POST" else None, changeable=may)
        said: dict[str, Any] = {}
        if request.method == "POST" and form.is_valid() and form.wanted:
            try:
                found = self._save_or_plan(request, now, form, form.wanted)
            except (Forbidden, BadRequest, RMQError) as problem:
                form.add_error(None, str(problem))
            else:
                if isinstance(found, Topic):
                    self.message_user(request, gettext("Saved: %(topic)s") % {"topic": found.name}, messages.SUCCESS)
                    return redirect("console_admin:console_topicdefinition_change", found.name)
                said = found
        title = now.name if now else gettext("New topic")
        return self.drawn(request, form, form.sets, now, title, may=may, said=said)

    def _save_or_plan(
        self, request: HttpRequest, now: Topic | None, form: TopicForm, wanted: Topic
    ) -> Topic | dict[str, Any]:
        """Saved is what a plan was shown of, and only over the version that it was made from; else there is a plan."""
        version, created_ms = (now.version, now.created_ms) if now else (0, 0)
        sealed = seal(wanted, version, created_ms)
        if request.POST.get("seal") == sealed:
            return topics.save(actor_of(request), wanted, version, form.cleaned_data["reason"], created_ms=created_ms)
        if now and not _begun_with(request, now):
            form.add_error(None, moved())
        plan = change_plan(now, wanted)
        if now and not plan.difference:
            return {"plan": plan, "asked": gettext("Nothing differs from what is stored.")}
        return {"plan": plan, "seal": sealed, "asked": gettext("Nothing is saved yet. Press Save again to do this.")}


def _begun_with(request: HttpRequest, topic: Topic) -> bool:
    """Whether the form was opened with this version of it."""
    return (request.POST.get("version"), request.POST.get("created_ms")) == (str(topic.version), str(topic.created_ms))


def moved() -> str:
    """That it is not what somebody has seen."""
    return gettext("Somebody else has changed this topic meanwhile. Look at the plan again.")


@admin.register(TopicRevision, site=site)
class TopicRevisionAdmin(GuardedAdmin):
    """The history of every topic, to look at."""

    list_display = ("topic", "version", "change", "who", "via", "reason")
    list_filter = ("change", "via")
    linked_by = frozenset({"topic"})
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


def _stored(user: User, name: str) -> Topic | None:
    """None of one that is not there, or not for them, or while Redis is away; the list says which."""
    try:
        found = topics.stored(name) if in_scope(user, name) else None
    except RMQError:
        return None
    return found if found and not found.is_group else None
