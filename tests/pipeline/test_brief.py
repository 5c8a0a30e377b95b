"""What is soon done is seen before Spark starts; where it is not seen, Java compiles as for much."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.pipeline import __main__ as program
from rmq_core.pipeline.__main__ import main, parser
from rmq_core.pipeline.program import brief
from rmq_core.pipeline.program.brief import is_brief

MESSAGES, ENTRIES = 30, 4  # each slot began, and got some


@pytest.fixture
def said(client: RMQ, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A namespace with little in it, as the command line names it."""
    for name in ("SPARK_MASTER", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    client.define(Topic("work", TopicKind.PRIORITY, slots=2, journal=Journal.EVENTS))
    client.send_many("work", [PriorityMessage(f"m{i}", priority=20) for i in range(MESSAGES)])
    return ["--url", client.target.url, "--namespace", client.keyspace.namespace]


def asked(said: list[str], command: str, *more: str) -> bool:
    return is_brief(parser("rmq").parse_args([command, *said, "--archive", "nowhere", *more]))


def covered(folder: Path) -> Path:
    (folder / "state").mkdir(parents=True)
    (folder / "state" / "000000000001-any.json").touch()
    return folder


def test_little_is_brief_and_what_goes_on_is_not(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(said, "archive")
    assert not asked(said, "archive", "--every", "1m")
    assert not asked(said, "restore"), "how much comes back, the archive alone knows"
    monkeypatch.setattr(brief, "ENTRIES", ENTRIES - 1)
    assert not asked(said, "archive")
    monkeypatch.setattr(brief, "ENTRIES", ENTRIES)
    assert asked(said, "archive")
    monkeypatch.setattr(brief, "SLOTS", 1)
    assert not asked(said, "archive")


def test_a_reconciliation_also_reads_queues_and_what_no_closing_state_covers(
    said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, unknown = covered(tmp_path / "a=1 [known]"), tmp_path / "unknown"
    unknown.mkdir()
    assert not asked(said, "reconcile", "--archive", str(unknown))
    assert not asked(said, "reconcile", "--archive", "s3a://bucket/archive"), "that is not looked into"
    for path in (str(known), f"file:{known}", f"file://{known}"):
        assert asked(said, "reconcile", "--archive", path), path
    assert not asked(said, "reconcile", "--archive", str(known), "--from-scratch")
    assert not asked(said, "reconcile", "--archive", str(known), "--ledger", "orders.csv")
    monkeypatch.setattr(brief, "MESSAGES", MESSAGES - 1)
    assert not asked(said, "reconcile", "--archive", str(known))
    assert asked(said, "archive", "--archive", str(known))


def test_where_no_server_answers_the_command_says_so(said: list[str]) -> None:
    assert not asked([*said, "--url", "redis://127.0.0.1:1/0"], "archive")


@pytest.mark.parametrize("many", [False, True])
def test_spark_is_told(
    said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[Any] = []

    def opened(*_: object, **options: object) -> None:
        told.append(options["brief"])
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "open_session", opened)
    monkeypatch.setattr(brief, "ENTRIES", 0 if many else ENTRIES)
    assert main(["archive", *said, "--archive", str(tmp_path)]) == 130, capsys.readouterr().err
    assert told == [not many]
