"""Each answer that shows one row of ours whole says its version, whatever was done; and of several who delete one, one
has done it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from console.errors import BadRequest
from console.models import AlertReceiver, AlertRule, AuditEntry, RecurringMessage, Screen
from console.usecases import alerts, recurring, screens
from console.usecases.actor import Actor
from tests.console.api.conftest import Caller, make_token, problem
from tests.console.conftest import Queue

EVERY_MINUTE = {"topic": "orders", "content": "x", "when": "in_ms", "value": 0, "every_ms": 60_000}
ROWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "/alerts/rules": ({"name": "n", "problem": "dead"}, {"severity": "info"}),
    "/alerts/receivers": ({"name": "n", "address": "https://n.test/"}, {"least": "info"}),
    "/screens": ({"name": "n", "panels": "alerts"}, {"rotate_s": 7}),
    "/recurring": ({"name": "n", **EVERY_MINUTE}, {"description": "d"}),
    "/reconciliations/schedules": ({"every_ms": 3_600_000}, {"every_ms": 7_200_000}),
}


@pytest.fixture
def admin(queue: Queue, caller: Callable[..., Caller]) -> Caller:
    AlertRule.objects.all().delete()
    queue.topic()
    return caller("Admin")


@pytest.mark.django_db
@pytest.mark.parametrize("path", ROWS)
def test_what_was_written_says_its_version(admin: Caller, path: str) -> None:
    body, change = ROWS[path]
    made = admin.post(path, body)
    one = made["Location"].removeprefix("/api/v1")
    assert made["ETag"] == admin.get(one)["ETag"]
    changed = admin("PATCH", one, change, If_Match=made["ETag"])
    assert changed.status_code == 200 and changed["ETag"] == admin.get(one)["ETag"] != made["ETag"]
    problem(admin("PATCH", one, change, If_Match=made["ETag"]), 412, "changed_meanwhile")
    if "enabled" in changed.json():
        disabled = admin("PATCH", one, {"enabled": False}, If_Match=changed["ETag"])
        assert disabled.status_code == 200 and disabled["ETag"] == admin.get(one)["ETag"] != changed["ETag"]


@pytest.mark.django_db
def test_a_panel_makes_another_version(admin: Caller) -> None:
    made = admin.post("/screens", ROWS["/screens"][0])
    more = admin.post("/screens/n/panels", {"panel": "problems"})
    assert more["ETag"] == admin.get("/screens/n")["ETag"] != made["ETag"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "kind", "remove"),
    [
        ("/alerts/rules", AlertRule, alerts.remove_rule),
        ("/alerts/receivers", AlertReceiver, alerts.remove_receiver),
        ("/screens", Screen, screens.remove),
        ("/recurring", RecurringMessage, recurring.remove),
    ],
    ids=["rule", "receiver", "screen", "recurring"],
)
def test_of_two_who_delete_one_it_was_one(admin: Caller, path: str, kind: Any, remove: Any) -> None:
    admin.ok("POST", path, ROWS[path][0], status=201)
    actor = Actor(make_token("Admin", name="other")[1].as_user(), None, "rest")
    first, second = kind.objects.get(), kind.objects.get()
    remove(actor, first, "over")
    with pytest.raises(BadRequest, match="There is no"):
        remove(actor, second, "over")
    assert [*AuditEntry.objects.order_by("id").values_list("result", flat=True)] == ["done", "done", "refused"]
