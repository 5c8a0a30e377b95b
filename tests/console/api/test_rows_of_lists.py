"""A row with a word that this release does not know, as a newer one may have left it, hides no other row of a list."""

from __future__ import annotations

from typing import Any

import pytest

from console.models import AuditEntry, Operation, Reconciliation
from tests.console.api.conftest import Caller, make_token
from tests.console.conftest import Queue

NEWER = [
    (Reconciliation, "kind", "/reconciliations", "runs"),
    (Reconciliation, "state", "/reconciliations", "runs"),
    (Operation, "action", "/operations", "operations"),
    (Operation, "state", "/operations", "operations"),
    (AuditEntry, "action", "/audit", "entries"),
    (AuditEntry, "result", "/audit", "entries"),
    (AuditEntry, "via", "/audit", "entries"),
]


@pytest.fixture
def made(queue: Queue, db: None) -> dict[type, list[Any]]:
    entries = [AuditEntry.objects.create(username="a", action="cancel", topic="orders") for _ in range(3)]
    operations = [
        Operation.objects.create(action="cancel", topic="orders", username="a", audit=entry, due_ms=1, reason="r")
        for entry in entries
    ]
    runs = [Reconciliation.objects.create(username="a") for _ in range(3)]
    return {AuditEntry: entries, Operation: operations, Reconciliation: runs}


@pytest.mark.parametrize(("model", "field", "path", "name"), NEWER)
def test_a_row_of_a_newer_release_hides_no_other(
    made: dict[type, list[Any]], model: Any, field: str, path: str, name: str
) -> None:
    ask = Caller(make_token("Admin")[0])
    model.objects.filter(pk=made[model][1].pk).update(**{field: "newer"})
    good = {str(made[model][0].pk), str(made[model][2].pk)}
    assert good <= {str(row["id"]) for row in ask.ok("GET", path)[name]}
    # Pages go on behind it.
    seen: set[str] = set()
    following = ""
    for _ in range(9):
        page = ask.ok("GET", f"{path}?limit=1{following}")
        seen |= {str(row["id"]) for row in page[name]}
        if page["next"] is None:
            break
        following = f"&cursor={page['next']}"
    assert good <= seen
