"""Forms of Django's templates that have no block for what ours send beside."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def sending_begun(page: str, mark: str) -> SafeString:
    """A page whose form says what it was opened with. Whatever is shown on it is escaped: the end is the form's own."""
    field = format_html('<input type="hidden" name="begun" value="{}">', mark)
    return mark_safe(page.replace("</form>", f"{field}</form>"))
