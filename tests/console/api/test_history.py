"""The history of days over REST."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from urllib.parse import quote

import pytest

from console.history import problems, store
from console.history.points import POINT
from console.history.slots import SlotsBlock
from console.history.tiers import HOUR, MINUTE, SLOTS
from console.history.writing import Batch, write
from console.models import HistoryProblem, TopicRevision
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue
from tests.console.history.samples import point, slot

BASE_MS = round(time.time() * 1000) // HOUR * HOUR - 2 * HOUR
SPAN = f"from={BASE_MS}&to={BASE_MS + 10 * MINUTE}"


@pytest.fixture
def viewer(queue: Queue, caller: Callable[..., Caller]) -> Caller:
    queue.topic()
    store.begin("w")
    points = [point(BASE_MS + 10_000 * step, backlog=step, in_s=0.5) for step in range(60)]
    write("w", [Batch("orders", BASE_MS + 10 * MINUTE, points), Batch("secret", BASE_MS + MINUTE, points)])
    return caller("Viewer", topics="orders*")


def test_numbers_between_two_moments(viewer: Caller) -> None:
    found = viewer.ok("GET", f"/topics/orders/history?{SPAN}&step=120000")
    assert (found["topic"], found["step_ms"], found["names"]) == ("orders", 120_000, list(POINT))
    assert [(row[0] - BASE_MS, row[1], row[5]) for row in found["points"]] == [
        (120_000 * step, 0.5, 12 * step + 11) for step in range(5)
    ]
    first = datetime.fromtimestamp(BASE_MS / 1000, UTC)
    last = (first + timedelta(minutes=10)).astimezone(timezone(timedelta(hours=8)))
    same = viewer.ok("GET", f"/topics/orders/history?from={quote(first.isoformat())}&to={quote(last.isoformat())}")
    assert (same["step_ms"], len(same["points"])) == (10_000, 60)
    assert viewer.ok("GET", "/topics/orders/history")["points"] == [], "of the last hour there is nothing"


def test_as_a_file(viewer: Caller) -> None:
    answer = viewer.get(f"/topics/orders/history:export?{SPAN}&step=60000")
    assert answer["Content-Type"].startswith("text/csv")
    assert 'filename="orders-' in answer["Content-Disposition"]
    lines = list(csv.reader(io.StringIO(answer.getvalue().decode())))
    assert tuple(lines[0]) == POINT and len(lines) == 11
    answer = viewer.get(f"/topics/orders/history:export?{SPAN}&step=60000&form=jsonl")
    first = json.loads(answer.getvalue().decode().splitlines()[0])
    assert (first["at_ms"], first["backlog"]) == (BASE_MS, 5)


def test_of_a_topic_that_is_gone_it_stays_and_of_others_topics_nothing_is_told(viewer: Caller, queue: Queue) -> None:
    queue.control.delete_topic("orders")
    assert viewer.ok("GET", f"/topics/orders/history?{SPAN}")["points"]
    problem(viewer.get("/topics/orders/history"), 404, "unknown_topic")
    problem(viewer.get(f"/topics/secret/history?{SPAN}"), 403, "out_of_scope")


@pytest.mark.parametrize(
    "query",
    [
        "from=yesterday", "from=2025-11-23T01:00:00", "to=-1", "to=99999999999999999", "step=999", "step=x",
        f"from={BASE_MS}&to={BASE_MS}", f"from=0&to={BASE_MS}&step=1000", "from=%00", "since=1", "to=²",
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused(viewer: Caller, query: str) -> None:
    problem(viewer.get(f"/topics/orders/history?{query}"), 422, "invalid")


def test_how_much_is_kept_is_said(viewer: Caller) -> None:
    found = viewer.ok("GET", "/history")
    assert found["max_mib"] == 1024 and found["mib"] >= 0
    assert [(each["series"], each["step_ms"]) for each in found["tiers"]] == [
        ("numbers", 10_000), ("numbers", 60_000), ("numbers", 900_000), ("slots", 10_000), ("slots", 60_000),
    ]  # fmt: skip
    assert found["tiers"][0]["blocks"] == 2 and found["tiers"][0]["bytes"] > 0
    assert found["tiers"][3]["oldest_ms"] is None


def test_how_it_was_at_a_moment_and_what_happened_around_it(viewer: Caller, caller: Callable[..., Caller]) -> None:
    def problem_of(topic: str) -> HistoryProblem:
        said = problems.pack([[BASE_MS, "warning", {"lag_ms": 5}]])
        return HistoryProblem(
            topic=topic,
            key="k",
            code="lagging",
            severity="warning",
            begun_ms=BASE_MS,
            seen_ms=BASE_MS + HOUR,
            said=said,
        )

    HistoryProblem.objects.bulk_create([problem_of("orders"), problem_of(""), problem_of("secret")])
    TopicRevision.objects.create(
        topic="orders", version=9, stored_ms=BASE_MS + 1, change="edited", username="ann", definition={"paused": True}
    )
    found = viewer.ok("GET", f"/topics/orders/history/moment?at={BASE_MS + 15_000}")
    assert (found["numbers"]["backlog"], found["numbers_step_ms"], found["slots"]) == (1, 10_000, None)
    assert [(each["topic"], each["values"]) for each in found["problems"]] == [("orders", {"lag_ms": 5})]
    assert found["definition"] == {"paused": True}
    (mark,) = viewer.ok("GET", f"/topics/orders/history/markers?{SPAN}")["marks"]
    assert (mark["count"], mark["kinds"]) == (2, {"definition": 1, "problem": 1})
    assert [each["who"] for each in mark["markers"] if each["kind"] == "definition"] == [""], (
        "it may not read the audit"
    )
    admin = caller("Admin")
    assert len(admin.ok("GET", f"/topics/orders/history/moment?at={BASE_MS + 15_000}")["problems"]) == 2
    marks = admin.ok("GET", f"/topics/orders/history/markers?{SPAN}&most=1000")["marks"]
    assert {"ann"} < {each["who"] for mark in marks for each in mark["markers"]}
    problem(viewer.get("/topics/secret/history/moment?at=1"), 403, "out_of_scope")
    problem(viewer.get("/topics/orders/history/moment"), 422, "invalid")
    problem(viewer.get("/topics/orders/history/markers?most=0"), 422, "invalid")
    problem(viewer.get("/topics/orders-2/history/moment?at=1"), 404, "unknown_topic")


def test_who_owned_which_slot(viewer: Caller) -> None:
    block = SlotsBlock(SLOTS[1], BASE_MS, 2)
    for step, owners in enumerate([("a", "a"), ("a", "b"), ("a", None)]):
        block.add(BASE_MS + step * MINUTE, [slot(0), slot(1)], owners)
    store.save([store.Row("orders", "slots", MINUTE, BASE_MS, block.end_ms, block.pack())])
    found = viewer.ok("GET", f"/topics/orders/history/owners?{SPAN}")
    assert (found["slots"], found["names"], found["step_ms"]) == (2, ["a", "b"], MINUTE)
    assert found["changes"] == [
        [BASE_MS, 0, 0],
        [BASE_MS, 1, 0],
        [BASE_MS + MINUTE, 1, 1],
        [BASE_MS + 2 * MINUTE, 1, -1],
    ]
    assert found["known"] == [[BASE_MS, BASE_MS + 3 * MINUTE]]
    problem(viewer.get("/topics/orders-2/history/owners"), 404, "unknown_topic")
    problem(viewer.get(f"/topics/secret/history/owners?{SPAN}"), 403, "out_of_scope")
