"""Audit windows over REST: what is known is told, what nobody knows is null, and never 0."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rmq_core.pipeline.buckets import DAY_MS, HOUR_MS, MINUTE_MS, bucket_of, ms_in
from rmq_core.pipeline.trends import INDEX, quantiles, table
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue
from tests.docs.blocks import ROOT, blocks
from tests.support.audit_windows import write_windows
from tests.support.console_options import set_options

BASE_MS = 1_800_000_000_000 // DAY_MS * DAY_MS


@pytest.fixture
def archive(tmp_path: Path, settings: Any) -> Path:
    set_options(settings, PIPELINE_ARCHIVE=str(tmp_path / "archive"))
    write_windows(
        tmp_path / "archive",
        "orders",
        [
            [
                ("hour", BASE_MS, "sent", -1, 7),
                ("hour", BASE_MS, "lateness", 5, 98),
                ("hour", BASE_MS, "lateness", 4_000, 2),
                ("hour", BASE_MS - DAY_MS, "sent", -1, 3),
                ("minute", BASE_MS, "sent", -1, 1),
            ],
            [("hour", BASE_MS, "sent", -1, 2), ("hour", BASE_MS + 2 * HOUR_MS, "acked", -1, 1)],  # one came late
        ],
        (BASE_MS - DAY_MS, BASE_MS + 2 * HOUR_MS + 1),
        BASE_MS + 3 * HOUR_MS,
        unproved=1,
    )
    return tmp_path / "archive"


@pytest.fixture
def viewer(queue: Queue, caller: Callable[..., Caller], archive: Path) -> Caller:
    for name in ("orders", "orders-none", "secret"):
        queue.topic(name)
    return caller("Viewer", topics="orders*")


def told(found: dict[str, Any], key: str = "windows") -> list[dict[str, Any]]:
    return [dict(zip(found["names"], row, strict=True)) for row in found[key]]


def test_what_is_known_and_what_is_not(viewer: Caller) -> None:
    span = f"from={BASE_MS - 1}&to={BASE_MS + 4 * HOUR_MS}"
    found = viewer.ok("GET", f"/topics/orders/windows?{span}&compare=day")
    assert (found["step_ms"], found["unproved"], found["complete_ms"]) == (HOUR_MS, 1, BASE_MS + 2 * HOUR_MS + 1)
    rows = told(found)
    assert [(row["sent"], row["acked"], row["complete"]) for row in rows] == [
        (9, 0, True),
        (0, 0, True),
        (0, 1, False),  # so far
        (None, None, False),
    ]
    assert [rows[0][f"lateness_p{n}_ms"] for n in (50, 95, 99)] == [ms_in(bucket_of(ms)) for ms in (5, 5, 4_000)]
    assert rows[0]["end_to_end_p50_ms"] is rows[1]["lateness_p50_ms"] is None
    assert [row["sent"] for row in told(found, "compared")] == [3, 0, 0, 0] and found["compared_ms"] == DAY_MS
    earlier = viewer.ok("GET", f"/topics/orders/windows?{span}&compare=week")
    assert {row["sent"] for row in told(earlier, "compared")} == {None}
    minutes = viewer.ok("GET", f"/topics/orders/windows?size=minute&from={BASE_MS}&to={BASE_MS + 2 * MINUTE_MS}")
    assert [row["sent"] for row in told(minutes)] == [1, 0]


def test_where_there_are_none_that_is_said(viewer: Caller, archive: Path) -> None:
    found = viewer.ok("GET", "/topics/orders-none/windows?size=day")
    assert (found["complete_ms"], found["windows"]) == (None, [])
    problem(viewer.get("/topics/secret/windows"), 403, "out_of_scope")
    problem(viewer.get("/topics/unheard-of/windows"), 403, "out_of_scope")
    (archive / INDEX).rename(archive / f"{INDEX}.part")  # as for a moment, whenever it is replaced
    assert viewer.ok("GET", "/topics/orders/windows")["complete_ms"]
    (archive / INDEX).write_text("no json")
    problem(viewer.get("/topics/orders/windows"), 503, "no_windows")
    (archive / INDEX).write_text(json.dumps({"format": 99}))
    problem(viewer.get("/topics/orders/windows"), 503, "no_windows")


@pytest.mark.parametrize("query", ["size=second", "compare=year", f"from=0&to={BASE_MS}", "from=5&to=5", "step=1000"])
def test_what_makes_no_sense_is_refused(viewer: Caller, query: str) -> None:
    problem(viewer.get(f"/topics/orders/windows?{query}"), 422, "invalid")


def test_all_of_them_as_a_table(archive: Path) -> None:
    found = table(str(archive), "orders")
    assert set(found.column_names) == {"topic", "size", "start_ms", "name", "bucket", "n"} and found.num_rows == 7
    assert table(str(archive), "unheard-of") is None


def test_the_document_reads_them(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """docs/reference/pipeline.md: without Spark; here of another archive and topic."""
    (code,) = [
        each.code for each in blocks(ROOT / "docs/reference/pipeline.md") if __file__.endswith(each.what or "nothing")
    ]
    code = code.replace('"var/archive"', repr(str(archive))).replace('"rebooking"', '"orders"')
    exec(code, {"since_ms": BASE_MS, "until_ms": BASE_MS + HOUR_MS})
    first, *windows = capsys.readouterr().out.splitlines()
    assert first == f"{BASE_MS - DAY_MS} {BASE_MS + 2 * HOUR_MS + 1} 1"
    assert windows[0].startswith(f"{BASE_MS} 9 ") and windows[0].endswith(" True")


def test_times_are_told_within_a_twentieth() -> None:
    for ms in (*range(1, 2_000), 10**5 + 1, 10**9, 3 * 10**10):
        assert abs(ms_in(bucket_of(ms)) - ms) <= ms / 20 + 0.5
    assert (bucket_of(0), ms_in(0), bucket_of(1), ms_in(1)) == (0, 0, 1, 1)
    assert quantiles([(0, 1)]) == (0, 0, 0)
