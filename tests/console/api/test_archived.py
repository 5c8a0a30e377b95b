"""What the archive knows of a message that the queue and the record have forgotten."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from console.usecases import archived
from rmq_core.pipeline.archive_lookup import look
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue
from tests.support.archived_rows import write_archive
from tests.support.console_options import set_options

SENT = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
DONE = datetime(2026, 3, 2, 2, 58, 26, tzinfo=UTC)
DAY_S = 86_400


def rows_of(ident: bytes, sent: float = SENT.timestamp(), done: float = DONE.timestamp()) -> list[dict[str, Any]]:
    about = {"id": ident, "slot": 3}
    return [
        {**about, "at": sent, "event": "sent", "origin": "n", "target": "s", "due_ms": 1_000},
        {**about, "at": done - 2, "event": "taken", "origin": "s", "target": "p", "worker": "w-1", "host": "h"},
        {**about, "at": done - 1, "event": "retried", "origin": "p", "target": "r", "failures": 1,
         "error": "ValueError", "message": "secret words"},
        {**about, "at": done - 0.5, "event": "taken", "origin": "r", "target": "p", "worker": "w-2"},
        {**about, "at": done, "event": "acked", "origin": "p", "target": "-"},
    ]  # fmt: skip


@pytest.fixture
def archive(tmp_path: Path, settings: Any) -> Path:
    path = tmp_path / "archive"
    set_options(settings, PIPELINE_ARCHIVE=str(path))
    write_archive(path, "orders", 0, rows_of(b"a"))
    write_archive(path, "orders", 1, rows_of(b"b", DONE.timestamp() + DAY_S, DONE.timestamp() + 3 * DAY_S))
    write_archive(path, "secret", 2, rows_of(b"s"))
    return path


@pytest.fixture
def viewer(queue: Queue, caller: Callable[..., Caller], archive: Path) -> Caller:
    for name in ("orders", "secret"):
        queue.topic(name)
    return caller("Viewer", topics="orders*")


def ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def test_how_and_when_it_ended_is_told_with_every_step(viewer: Caller, caller: Callable[..., Caller]) -> None:
    reader = caller("Operator", topics="orders")
    (life,) = reader.ok("GET", "/topics/orders/archived/a")["lives"]
    record = life["record"]
    assert (record["id"], record["slot"], record["state"], record["ended_ms"]) == ("a", 3, "done", ms(DONE))
    assert (record["deliveries"], record["failures"], record["first_ms"]) == (2, 1, ms(SENT))
    assert [step["event"] for step in life["steps"]] == ["sent", "taken", "retried", "taken", "acked"]
    assert life["steps"][1]["worker"] == "w-1" and life["steps"][2]["error"] == "ValueError: secret words"
    (life,) = viewer.ok("GET", "/topics/orders/archived/a")["lives"]
    assert life["record"]["id"] is None and life["steps"][2]["error"] == "ValueError"


def test_it_looks_back_until_the_send_and_says_how_far(viewer: Caller) -> None:
    found = viewer.ok("GET", "/topics/orders/archived/a")
    assert (found["first"], found["last"], found["before"]) == ("2026-03-01", "2026-03-05", None)
    found = viewer.ok("GET", "/topics/orders/archived/b")
    assert [life["record"]["state"] for life in found["lives"]] == ["done"]
    assert (found["first"], found["before"]) == ("2026-03-03", "2026-03-03"), "what was before is another life"
    assert viewer.ok("GET", "/topics/orders/archived/b?before=2026-03-03")["lives"] == []


def test_a_look_that_has_no_time_goes_on_where_it_ended(archive: Path) -> None:
    before: date | None = None
    steps, looks = [], 0
    while looks == 0 or before:
        found = look(str(archive), "orders", b"a", before, longest_s=0)
        assert found.first == found.last, "one day, however little time there is"
        steps = found.steps + steps
        before, looks = found.before, looks + 1
    assert (len(steps), looks) == (5, 4)


def test_what_nobody_knows_is_not_found(viewer: Caller, tmp_path: Path, settings: Any) -> None:
    found = viewer.ok("GET", "/topics/orders/archived/nobody")
    assert (found["lives"], found["before"]) == ([], None)
    problem(viewer.get("/topics/secret/archived/s"), 403, "out_of_scope")
    set_options(settings, PIPELINE_ARCHIVE=str(tmp_path / "none"))
    found = viewer.ok("GET", "/topics/orders/archived/a")
    assert found == {"lives": [], "first": None, "last": None, "before": None}


def test_what_was_erased_is_nobodys(viewer: Caller, archive: Path) -> None:
    """Its transitions have an empty id, whose text stands in the header of what followed it."""
    write_archive(archive, "orders", 3, rows_of(b""))
    assert viewer.ok("GET", "/topics/orders/archived/%25")["lives"] == []


def test_an_archive_that_cannot_be_read_is_said(viewer: Caller, archive: Path) -> None:
    for file in archive.rglob("*.parquet"):
        file.write_bytes(b"no parquet")
    answer = viewer.get("/topics/orders/archived/a")
    problem(answer, 503, "no_archive")
    assert str(archive) not in answer.content.decode() and "events/topic=orders/" in answer.content.decode()
    (archive / "compacted").mkdir()
    (archive / "compacted" / "x.json").write_text("{")
    answer = viewer.get("/topics/orders/archived/a")
    problem(answer, 503, "no_archive")
    assert str(archive.parent) not in answer.content.decode()


def test_an_archive_without_its_checkpoint_is_said(viewer: Caller, archive: Path) -> None:
    shutil.rmtree(archive / "checkpoint")
    answer = viewer.get("/topics/orders/archived/a")
    problem(answer, 503, "no_archive")
    assert "checkpoint" in answer.json()["message"] and str(archive) not in answer.content.decode()


@pytest.mark.parametrize("day", ["notadate", "9999-99-99"])
def test_a_folder_that_is_no_day_is_said(viewer: Caller, archive: Path, day: str) -> None:
    folder = archive / "events" / "topic=orders" / f"date={day}" / "batch=000000000000"
    folder.mkdir(parents=True)
    (folder / "x.parquet").touch()
    answer = viewer.get("/topics/orders/archived/a")
    problem(answer, 503, "no_archive")
    assert f"/date={day}/" in answer.json()["message"] and "move it out" in answer.json()["message"]


def test_only_so_many_look_at_once(viewer: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archived, "PATIENCE_S", 0)
    for _ in range(archived.AT_ONCE):
        archived._turns.acquire()
    try:
        problem(viewer.get("/topics/orders/archived/a"), 503, "busy")
    finally:
        archived._turns.release(archived.AT_ONCE)
    assert viewer.ok("GET", "/topics/orders/archived/a")["lives"]
