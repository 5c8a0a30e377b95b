"""What every list of the admin is built on: it is narrowed by what is drawn beside it, and by nothing else.

Django's own takes any lookup on any field of a table from the address: who may not read content could ask for it letter
by letter, by what is left of a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied, ValidationError
from django.forms import ModelMultipleChoiceField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.admin import ModelAdmin

from console.access import Forbidden
from console.admin.unoffered import keep_unoffered
from console.errors import BadRequest
from console.usecases.audit import keep_refused
from rmq_core.errors import RMQError

TERM_MAX = 500
FORMS = ("add", "change", "delete")
"""Pages that change a row."""
REFUSALS = (Forbidden, BadRequest, RMQError)


class Chosen(ModelMultipleChoiceField):  # type: ignore[type-arg]  # at run time it has none
    """Some of several rows. What can be no key was chosen by nobody; a database fails on a number beyond its own."""

    def _check_values(self, value: Any) -> Any:
        key = self.queryset.model._meta.pk  # type: ignore[union-attr]
        for each in value:
            try:
                key.clean(each, None)
            except ValidationError:
                words, about = self.error_messages["invalid_pk_value"], {"pk": each}
                raise ValidationError(words, code="invalid_pk_value", params=about) from None
        return super()._check_values(value)  # type: ignore[misc]  # no part of the stubs


class _Refused:
    """Of a form."""

    refused: ClassVar[str]

    def clean(self) -> Any:
        given = super().clean()  # type: ignore[misc]
        self.add_error(None, self.refused)  # type: ignore[attr-defined]
        return given


class NarrowList(ChangeList):
    """Filters take their own parameters out of an address; what is left of it then was made by nobody here."""

    model_admin: GuardedAdmin

    def get_filters(self, request: HttpRequest) -> Any:
        if any("\0" in text for name, texts in request.GET.lists() for text in (name, *texts)):
            raise IncorrectLookupParameters  # no database has it in a text
        found = super().get_filters(request)
        if found[2].keys() - self.model_admin.linked_by:
            raise IncorrectLookupParameters
        return found


class GuardedAdmin(ModelAdmin):
    """`linked_by`: columns of the list that links of ours lead to, with one value. `audited_as`: by which name
    the audit knows what its pages (`add`, `change`, `delete`) and its actions do."""

    linked_by: ClassVar[frozenset[str]] = frozenset()
    audited_as: ClassVar[Mapping[str, str]] = {}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NarrowList]:
        return NarrowList

    def refused(self, request: HttpRequest, view: str, *keys: str) -> None:
        """Called by the site where a page was not for somebody."""
        action = self.audited_as.get(view.removesuffix("_view"))
        if request.method == "POST" and action:
            keep_unoffered(request, action, [str(key) for key in keys])

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Django takes an action that it does not offer somebody for none at all, and says nothing."""
        if request.method == "POST":
            asked, offered = request.POST.getlist("action"), self.get_actions(request)
            for name in asked:
                action = self.audited_as.get(name.removesuffix("_selected"))
                if action and name not in offered:
                    why = keep_unoffered(request, action, request.POST.getlist(ACTION_CHECKBOX_NAME))
                    raise PermissionDenied(why)
        found: HttpResponse = super().changelist_view(request, extra_context)
        return found

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Also of what other forms choose from."""
        if "\0" in search_term or len(search_term) > TERM_MAX:
            return queryset.none(), False
        found: tuple[Any, bool] = super().get_search_results(request, queryset, search_term)
        return found

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest | None = None, **kwargs: Any) -> Any:
        return super().formfield_for_manytomany(db_field, request, **{"form_class": Chosen, **kwargs})

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        """Rows are referred to by their keys alone; Django's own fails on a relation that leads here."""
        return bool(to_field == self.opts.pk.name)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Nothing out of an address: no link of ours begins a form, and not all fields can show what is no value."""
        return {}

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """What is refused only when it is written, since somebody else was faster, is said in the form as well."""
        try:
            return super().changeform_view(request, *args, **kwargs)
        except REFUSALS as problem:
            keep_refused(problem)
            request.refused = str(problem)  # type: ignore[attr-defined]
            return super().changeform_view(request, *args, **kwargs)

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        form = super().get_form(request, *args, **kwargs)
        refused = getattr(request, "refused", "")
        return type(form.__name__, (_Refused, form), {"refused": refused}) if refused else form

    def delete_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().delete_view(request, object_id, *args, **kwargs)
        except REFUSALS as problem:
            keep_refused(problem)
            self.message_user(request, str(problem), messages.ERROR)
            return redirect(f"{self.admin_site.name}:{self.opts.app_label}_{self.opts.model_name}_changelist")

    def response_action(self, request: HttpRequest, queryset: Any, *args: Any, **kwargs: Any) -> HttpResponse | None:
        """What can be no key was selected by nobody; nor were all, where a list does not offer that."""
        sent = request.POST.copy()
        sent.setlist(ACTION_CHECKBOX_NAME, [key for key in sent.getlist(ACTION_CHECKBOX_NAME) if self._may_be_key(key)])
        if self.list_disable_select_all:
            sent.pop("select_across", None)
        request.POST = sent  # type: ignore[assignment]
        try:
            found: HttpResponse | None = super().response_action(request, queryset, *args, **kwargs)
        except REFUSALS as problem:
            self.message_user(request, str(problem), messages.ERROR)
            return redirect(request.get_full_path())
        return found

    def _may_be_key(self, text: str) -> bool:
        try:
            self.opts.pk.clean(text, None)
        except ValidationError:
            return False
        return True
