"""The calendar of windows over REST: what is complete, what is not, what was found, and what nobody knows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from console.models import Finding, Reconciliation
from console.usecases.runs import calendar
from rmq_core.pipeline.buckets import DAY_MS, HOUR_MS
from rmq_core.pipeline.trends import INDEX
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue
from tests.support.audit_windows import write_windows
from tests.support.console_options import set_options

BASE_MS = 1_800_000_000_000 // DAY_MS * DAY_MS
WEEK = f"from={BASE_MS}&to={BASE_MS + 5 * DAY_MS}"


@pytest.fixture
def archive(tmp_path: Path, settings: Any) -> Path:
    """Of `orders` from within the first day until within the fourth all is known; a day's numbers are of no matter."""
    set_options(settings, PIPELINE_ARCHIVE=str(tmp_path / "archive"))
    span = BASE_MS + 6 * HOUR_MS, BASE_MS + 3 * DAY_MS + 9 * HOUR_MS
    write_windows(tmp_path / "archive", "orders", [[("day", BASE_MS, "sent", -1, 7)]], span, span[1])
    return tmp_path / "archive"


@pytest.fixture
def viewer(queue: Queue, caller: Callable[..., Caller], archive: Path) -> Caller:
    for name in ("orders", "orders-late", "secret"):
        queue.topic(name)
    return caller("Viewer", topics="orders*")


def ended(day: int, hour: int, topics: list[str], found: str = "", gap: str = "", n: int = 1) -> Reconciliation:
    at = datetime.fromtimestamp((BASE_MS + day * DAY_MS + hour * HOUR_MS) / 1000, UTC)
    run = Reconciliation.objects.create(
        **{"kind": "reconcile", "state": "done", "username": "a", "created": at, "finished": at, "topics": topics},
        summary={"inputs": {"topics": topics}, "gaps": [{"topic": gap, "slot": 0}] if gap else []},
        complete=not gap,
        findings=n if found else 0,
        listed=n if found else 0,
    )
    if found:
        Finding.objects.bulk_create(
            Finding(run=run, kind="lost", topic=found, slot=0, ident=str(each)) for each in range(n)
        )
    return run


def states(found: dict[str, Any]) -> list[str]:
    return [each["state"] for each in found["windows"]]


def test_a_day_is_complete_incomplete_with_findings_or_unknown(viewer: Caller) -> None:
    ended(1, 3, ["orders"], found="orders", n=2)
    telling = ended(1, 5, ["orders"], found="orders", n=3)
    ended(1, 7, ["orders"])
    torn = ended(2, 1, ["orders"], gap="orders")
    found = viewer.ok("GET", f"/reconciliations/calendar?topic=orders&{WEEK}")
    assert (found["step_ms"], found["from_ms"], found["to_ms"]) == (DAY_MS, BASE_MS, BASE_MS + 5 * DAY_MS)
    assert states(found) == ["complete", "findings", "incomplete", "incomplete", "unverified"]
    day = found["windows"][1]
    assert (day["findings"], day["runs"], day["run"]) == (3, 3, str(telling.pk))
    assert day["topics"] == {"findings": 1, "incomplete": 0, "complete": 0, "unverified": 0}
    assert found["windows"][2]["run"] == str(torn.pk) and found["windows"][0]["run"] is None
    assert found["runs_since_ms"] is None


def test_the_hours_of_a_day(viewer: Caller) -> None:
    run = ended(3, 5, ["orders"], found="orders")
    span = f"from={BASE_MS + 3 * DAY_MS}&to={BASE_MS + 4 * DAY_MS}"
    found = viewer.ok("GET", f"/reconciliations/calendar?topic=orders&size=hour&{span}")
    assert states(found) == ["complete"] * 5 + ["findings"] + ["complete"] * 3 + ["unverified"] * 15
    assert found["windows"][5]["run"] == str(run.pk)


def test_of_all_topics_the_worst_is_told(viewer: Caller) -> None:
    """Where there are no windows of a topic, a run that lacked nothing is what is known."""
    ended(1, 1, ["orders", "orders-late"], found="orders-late")
    ended(2, 1, ["orders-late@billing", "secret"], found="secret")
    found = viewer.ok("GET", f"/reconciliations/calendar?{WEEK}")
    assert states(found) == ["complete", "findings", "complete", "incomplete", "unverified"]
    assert found["topics"] == ["orders", "orders-late"] and found["topics_n"] == 2
    assert found["windows"][1]["topics"] == {"findings": 1, "incomplete": 0, "complete": 1, "unverified": 1}
    assert (found["windows"][2]["findings"], found["windows"][2]["run"]) == (0, None), "it is about a topic not theirs"
    late = viewer.ok("GET", f"/reconciliations/calendar?topic=orders-late&{WEEK}")
    assert states(late) == ["unverified", "findings", "complete", "unverified", "unverified"]


def test_what_is_not_listed_is_doubt(viewer: Caller, archive: Path) -> None:
    run = ended(1, 1, ["orders", "orders-late"], found="orders-late")
    Reconciliation.objects.filter(pk=run.pk).update(findings=2)
    assert states(viewer.ok("GET", f"/reconciliations/calendar?topic=orders&{WEEK}"))[1] == "incomplete"
    (archive / INDEX).write_text("no json")
    problem(viewer.get("/reconciliations/calendar"), 503, "no_windows")


def test_only_so_many_runs_are_looked_at(viewer: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calendar, "RUNS_MOST", 2)
    ended(0, 12, ["orders"], found="orders")
    for hour in (1, 2):
        ended(1, hour, ["orders"])
    found = viewer.ok("GET", f"/reconciliations/calendar?topic=orders&{WEEK}")
    assert found["runs_since_ms"] == BASE_MS + DAY_MS + HOUR_MS and found["windows"][0]["state"] == "unverified"


def test_scopes_are_kept(viewer: Caller) -> None:
    problem(viewer.get("/reconciliations/calendar?topic=secret"), 403, "out_of_scope")
    assert len(viewer.ok("GET", "/reconciliations/calendar")["windows"]) == 91
    assert len(viewer.ok("GET", "/reconciliations/calendar?size=hour")["windows"]) == 24


@pytest.mark.parametrize("query", ["size=minute", f"from=0&to={BASE_MS}", "from=86400000&to=5", "topic=%00"])
def test_what_makes_no_sense_is_refused(viewer: Caller, query: str) -> None:
    problem(viewer.get(f"/reconciliations/calendar?{query}"), 422, "invalid")


def test_the_end_of_time_is_no_failure(viewer: Caller) -> None:
    assert viewer.get("/reconciliations/calendar?from=9999-12-01T00:00:00Z&to=253402300799000").status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        "x", "[]", '"x"', '{"format":1,"topics":[]}', '{"format":1,"topics":{"orders":{}}}', '{"format":2}',
        '{"format":1,"topics":{"orders":null}}',
        '{"format":1,"topics":{"orders":{"since_ms":1e400,"complete_ms":1,"unproved":0}}}',
    ],
)  # fmt: skip
def test_windows_that_are_damaged_are_said_and_no_path_of_the_server(viewer: Caller, archive: Path, text: str) -> None:
    (archive / INDEX).write_text(text)
    for path in (f"/reconciliations/calendar?{WEEK}", f"/topics/orders/windows?size=day&{WEEK}"):
        said = problem(viewer("GET", path), 503, "no_windows")["message"]
        assert said.startswith("the windows of the archive archive ") and str(archive.parent) not in said


@pytest.mark.parametrize("summary", [{"without_journal": 5}, {"gaps": {"a": 1}}, {"gaps": "x"}, {"inputs": []}, []])
def test_a_damaged_record_hides_no_other_run(viewer: Caller, summary: Any) -> None:
    ended(1, 3, ["orders"], found="orders")
    damaged = ended(1, 4, ["orders"])
    Reconciliation.objects.filter(pk=damaged.pk).update(summary=summary)
    found = viewer.ok("GET", f"/reconciliations/calendar?{WEEK}")
    assert states(found)[1] == "findings"
    assert viewer.ok("GET", "/reconciliations/clean")
