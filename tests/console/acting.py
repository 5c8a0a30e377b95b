"""Where the API takes each action that `console.access` names, and how; and how the admin takes a deletion."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from typing import Any

from django.test import Client

_PLACES = {
    "cancel": "/messages:cancel",
    "run_now": "/messages:run",
    "reschedule": "/messages:reschedule",
    "restore": "/messages:restore",
    "requeue": "/dead:requeue",
    "drop": "/dead:drop",
    "acknowledge": "/dead:acknowledge",
    "pause": ":pause",
    "resume": ":resume",
    "unfence": ":unfence",
    "pin": "/slots:pin",
    "unpin": "/slots:unpin",
}


def address(action: str, topic: str = "orders", worker: str = "") -> str:
    if action in ("drain", "undrain"):
        return f"/api/v1/workers/{worker}:{action}"
    return f"/api/v1/topics/{topic}{_PLACES[action]}"


def delete(browser: Client, page: str, chosen: Sequence[int] = ()) -> Any:
    """The answer to *Yes, I’m sure* where the admin asks whether to delete something; `chosen`: out of a list."""
    sent: dict[str, Any] = {"action": "delete_selected", "_selected_action": chosen} if chosen else {}
    shown = (browser.post(page, sent) if chosen else browser.get(page)).content.decode()
    return browser.post(page, {**sent, "post": "yes", "begun": html.unescape(BEGUN.findall(shown)[0])})


BEGUN = re.compile('name="begun" value="([^"]+)"')


def act(browser: Client, action: str, topic: str = "orders", messages: Sequence[Any] | None = None, **body: Any) -> Any:
    """The answer to an action; `messages`: pairs of slot and id."""
    if messages is not None:
        body["ids"] = [{"slot": slot, "id": ident} for slot, ident in messages]
    worker = body.get("worker", "")
    if action in ("drain", "undrain"):
        body.pop("worker", None)
    return browser.post(address(action, topic, worker), json.dumps(body), content_type="application/json")
