"""What somebody posts that no page of the admin offers them, as one does whose role was taken away meanwhile: it is
refused before any use case hears of it, so it is written down here."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest
from django.utils.translation import gettext

from console.access import Action, Forbidden, Permission, require
from console.admin.acting import actor_of
from console.usecases.audit import Result, new_entry

ROWS_KEPT, KEY_MOST = 100, 100


def keep_unoffered(request: HttpRequest, action: str, rows: Sequence[str]) -> str:
    """Written as refused; returns why it is. `rows`: keys, as they were posted."""
    reason = request.POST.get("reason", "")
    keys = [row[:KEY_MOST] for row in rows[:ROWS_KEPT]]
    entry = new_entry(actor_of(request), action, query={"rows": keys}, reason=reason)
    entry.asked, entry.result, why = max(1, len(rows)), Result.REFUSED, gettext("No page here offers that.")
    # People and roles go by permissions of Django's, which administrators have.
    needed, topic = (action, None) if isinstance(action, Action) else (Permission.ADMINISTER, "")
    try:
        require(request.user, needed, topic)
    except Forbidden as refusal:
        why = str(refusal)
    entry.detail = {"error": why}
    entry.save()
    return why
