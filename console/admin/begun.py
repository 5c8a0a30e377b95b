"""Forms that say what they were opened with: an old one undoes nothing that somebody else has done meanwhile."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpRequest

from console.admin.guarded import GuardedAdmin
from console.usecases.meanwhile import sentence
from console.usecases.people import mark_of


class _Begun:
    """Of a form of a model that says when it was `changed`."""

    def clean(self) -> Any:
        given = super().clean()  # type: ignore[misc]
        if self.instance.pk and self.data.get("begun") != self.begun():  # type: ignore[attr-defined]
            self.add_error(None, sentence())  # type: ignore[attr-defined]
        return given

    def begun(self) -> str:
        """For the template."""
        row = self.instance  # type: ignore[attr-defined]
        return row.changed.isoformat() if row.pk else ""


class _BegunAt:
    """Of a form of somebody or a role, whose tables are Django's and do not say when they were changed: what it was
    opened with is the standing itself."""

    def begun(self) -> str:
        row = self.instance  # type: ignore[attr-defined]
        return mark_of(row) if row.pk else ""


class BegunAdmin(GuardedAdmin):
    """What comes in between the look at the form and the writing is refused by `usecases.meanwhile`."""

    change_form_template = "console/admin/begun_form.html"
    says: ClassVar[tuple[type, ...]] = (_Begun,)

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        form = super().get_form(request, *args, **kwargs)
        return type(form.__name__, (*self.says, form), {})


class BegunPeopleAdmin(BegunAdmin):
    """Somebody whose role was taken away has it back by nobody's form that was opened before."""

    says = (_BegunAt, _Begun)
