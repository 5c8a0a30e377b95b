"""What a run found, over REST: findings, their repair, report and log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console.models import Finding, Operation, Reconciliation
from rmq_core.protocol.keys import slot_for
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue
from tests.support.console_options import set_options


@pytest.fixture
def run(queue: Queue, db: None) -> Reconciliation:
    """Two dead letters that should be done, one of which has come back by itself."""
    queue.topic()
    made = Reconciliation.objects.create(state="done", kind="reconcile", username="chief", topics=["orders"])
    for ident in ("left", "back"):
        queue.dead(ident)
        slot = slot_for(ident.encode(), 4)
        about = {"kind": "not_done", "repair": "requeue_dead", "topic": "orders", "slot": slot}
        cause = "last_event:died" if ident == "left" else ""
        Finding.objects.create(run=made, **about, ident=ident, cause=cause)
    queue.control.requeue("orders", ["back"])
    return made


def test_a_repair_is_looked_at_and_started(queue: Queue, run: Reconciliation, operator: Caller) -> None:
    path = f"/reconciliations/{run.pk}"
    seen = operator.ok("POST", f"{path}:repair", {"repair": "requeue_dead", "validate_only": True})
    assert (seen["count"], seen["outcomes"]) == (2, {"done": 1, "not_needed": 1, "unknown": 0})
    assert {each["id"] for each in seen["examples"]} == {"left", "back"}
    assert not Operation.objects.exists()
    problem(operator.post(f"{path}:repair", {"repair": "requeue_dead"}), 422, "bad_request")
    answer = operator.post(f"{path}:repair", {"repair": "requeue_dead", "kind": "not_done", "reason": "INC-1"})
    assert answer.status_code == 202, answer.content
    (operation,) = answer.json()["operations"]
    assert (operation["action"], operation["total"], operation["reason"]) == ("repair", 2, "INC-1")
    assert answer["Location"] == f"/api/v1/operations/{operation['id']}"
    detail = operator.ok("GET", path)
    group = {"kind": "not_done", "topic": "orders", "repair": "requeue_dead"}
    assert detail["groups"] == [{**group, "n": 2, "open": 0, "causes": [{"cause": "last_event:died", "n": 1}]}]
    (caused,) = operator.ok("GET", f"{path}/findings?cause=last_event:died")["findings"]
    assert (caused["id"], caused["cause"]) == ("left", "last_event:died")
    assert operator.ok("GET", f"{path}/findings?cause=with_server")["count"] == 0
    listed = operator.ok("GET", f"{path}/findings")
    assert listed["count"] == 2 and {each["operation"] for each in listed["findings"]} == {operation["id"]}
    assert operator.ok("GET", f"{path}/findings?open=true") == {"findings": [], "next": None, "count": 0}


def test_what_came_back_names_the_repair_before(run: Reconciliation, operator: Caller) -> None:
    body = {"repair": "requeue_dead", "reason": "INC-1"}
    operation = operator.post(f"/reconciliations/{run.pk}:repair", body).json()["operations"][0]["id"]
    again = Reconciliation.objects.create(state="done", kind="reconcile", username="chief", topics=["orders"])
    about = {"kind": "not_done", "repair": "requeue_dead", "topic": "orders"}
    Finding.objects.create(run=again, **about, slot=slot_for(b"left", 4), ident="left")
    Finding.objects.create(run=again, **about, slot=slot_for(b"other", 4), ident="other", evidence={"dead": 1})
    found = operator.ok("GET", f"/reconciliations/{again.pk}/findings")["findings"]
    assert [each["evidence"] for each in found] == [{"repaired_by": operation}, {"dead": 1}]
    first = operator.ok("GET", f"/reconciliations/{run.pk}/findings")["findings"]
    assert not any("repaired_by" in each["evidence"] for each in first)


def test_a_finding_of_another_topic_is_out_of_reach(run: Reconciliation, caller: Callable[..., Caller]) -> None:
    other = Finding.objects.create(run=run, kind="lost", repair="requeue_dead", topic="bills", slot=0, ident="x")
    scoped = caller("Operator", "orders")
    body = {"repair": "requeue_dead", "finding": other.pk, "reason": "r"}
    problem(scoped.post(f"/reconciliations/{run.pk}:repair", body), 403, "out_of_scope")
    problem(scoped.post(f"/reconciliations/{run.pk}:repair", {**body, "topic": "orders"}), 422, "bad_request")
    assert not Operation.objects.exists()


def test_what_only_administrators_repair(run: Reconciliation, operator: Caller) -> None:
    problem(
        operator.post(f"/reconciliations/{run.pk}:repair", {"repair": "drop_orphan", "reason": "r"}), 403, "forbidden"
    )
    problem(operator.post(f"/reconciliations/{run.pk}:repair", {"repair": "pray", "reason": "r"}), 422, "bad_request")


def test_log_report_and_trend(run: Reconciliation, operator: Caller, settings: Any, tmp_path: Path) -> None:
    set_options(settings, PIPELINE_REPORTS=tmp_path)
    folder = tmp_path / str(run.pk)
    folder.mkdir()
    (folder / "log.txt").write_text("all is well\n")
    assert operator.ok("GET", f"/reconciliations/{run.pk}/log") == {"log": "all is well\n"}
    answer = operator.get(f"/reconciliations/{run.pk}/report?form=csv")
    assert answer.status_code == 200 and b"".join(answer.streaming_content).startswith(b"kind,topic,slot")
    (folder / "findings").mkdir()
    (folder / "findings" / "part-0.parquet").write_bytes(b"PAR1 this is none PAR1")
    problem(operator.get(f"/reconciliations/{run.pk}/report"), 409, "bad_report")
    assert [each["id"] for each in operator.ok("GET", "/reconciliations/trend")["runs"]] == [str(run.pk)]
    set_options(settings, PIPELINE_LEDGERS=tmp_path)
    (tmp_path / "flights.csv").write_text("a")
    assert operator.ok("GET", "/reconciliations/ledgers") == {"ledgers": ["flights.csv"]}
