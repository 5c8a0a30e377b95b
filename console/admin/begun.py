"""Forms and pages of deletion that say what they were opened with: an old one undoes nothing that somebody else has
done meanwhile."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from django.http import HttpRequest

from console.admin.guarded import GuardedAdmin
from console.errors import ChangedMeanwhile
from console.usecases.meanwhile import sentence
from console.usecases.people import mark_of

BEGUN = "begun"


class _Begun:
    """Of a form."""

    model_admin: BegunAdmin

    def clean(self) -> Any:
        given = super().clean()  # type: ignore[misc]
        if self.instance.pk and self.data.get(BEGUN) != self.begun():  # type: ignore[attr-defined]
            self.add_error(None, sentence())  # type: ignore[attr-defined]
        return given

    def begun(self) -> str:
        """For the template."""
        row = self.instance  # type: ignore[attr-defined]
        return self.model_admin.mark(row) if row.pk else ""


class BegunAdmin(GuardedAdmin):
    """Of a model that says when it was `changed`. What comes in between the look and the writing is refused by
    `usecases.meanwhile`."""

    change_form_template = "console/admin/begun_form.html"
    delete_confirmation_template = "console/admin/begun_delete.html"
    delete_selected_confirmation_template = "console/admin/begun_delete_selected.html"

    def mark(self, row: Any) -> str:
        """By which one standing of a row is told from another."""
        return str(row.changed.isoformat())

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        form = super().get_form(request, *args, **kwargs)
        return type(form.__name__, (_Begun, form), {"model_admin": self})

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Of Django's pages of deletion, for one row or several: what goes is what was shown."""
        marks = [self.mark(row) for row in objs]
        request.begun = blake2b("\n".join(marks).encode(), digest_size=16).hexdigest()  # type: ignore[attr-defined]
        sent = request.POST
        confirmed = request.method == "POST" and ("post" in sent or "action" not in sent)
        if confirmed and sent.get(BEGUN) != request.begun:  # type: ignore[attr-defined]
            raise ChangedMeanwhile(sentence())
        return super().get_deleted_objects(objs, request)


class BegunPeopleAdmin(BegunAdmin):
    """Of somebody or a role, whose tables are Django's and do not say when they were changed: what it was opened with
    is the standing itself. Whose role was taken away has it back by nobody's form that was opened before."""

    def mark(self, row: Any) -> str:
        return mark_of(row)
