"""Business ledgers through the command: a window to the millisecond, one topic of several, ends and contents."""

from __future__ import annotations

import json
import logging
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rmq_core import RMQ, Control, PriorityMessage, Topic, TopicKind
from rmq_core.journal import reader
from rmq_core.model.topic import Journal
from rmq_core.pipeline import __main__ as command_line
from tests.support.waiting import wait_until

Found = set[tuple[str, str]]
"""Kind and id."""


@pytest.fixture
def command(spark: Any, client: RMQ, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """The command line in this process, with the session that is there."""
    logger, handled = logging.getLogger("rmq_core.pipeline"), signal.getsignal(signal.SIGTERM)
    before = [*logger.handlers], logger.propagate
    monkeypatch.setattr(command_line, "open_session", lambda *_, **__: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    monkeypatch.setenv("RMQ_URL", client.target.url)
    monkeypatch.setenv("RMQ_NAMESPACE", client.keyspace.namespace)
    yield lambda *words: command_line.main(words)
    signal.signal(signal.SIGTERM, handled)
    for handler in {*logger.handlers} - {*before[0]}:
        logger.removeHandler(handler)
        handler.close()
    logger.propagate = before[1]


def sent_ms(client: RMQ, topic: str) -> dict[str, int]:
    """When each was accepted, as its journal says."""
    read = client.run(reader.read(client.keyspace, client.topic(topic))).transitions
    return {each.id.decode(): int(each.entry_id.split("-")[0]) for each in read if each.event == "sent"}


def next_millisecond(client: RMQ) -> None:
    def now_ms() -> int:
        ((seconds, micros),) = client.connection.run([("TIME",)])
        return int(seconds) * 1000 + int(micros) // 1000

    since_ms = now_ms()
    wait_until(lambda: now_ms() > since_ms, what="a millisecond")


def test_a_window_to_the_millisecond_and_one_topic_of_a_ledger_that_names_several(
    client: RMQ, command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("work", "gate-close", "mail"):
        client.define(Topic(name, TopicKind.PRIORITY, slots=1, journal=Journal.EVENTS))
    for name in ("before", "first", "booked", "between", "last"):
        client.send("work", PriorityMessage(name, 20))
        if name == "before":
            client.ack(client.take("work", 1))
        client.send("mail", PriorityMessage(name, 20))
        next_millisecond(client)
    at = sent_ms(client, "work")
    assert len({*at.values()}) == 5
    (tmp_path / "ledger.csv").write_text(
        "topic,id,expected\nwork,before,done\nwork,booked,sent\ngate-close,a,sent\ngate-close,b,sent\nmail,first,done\n"
    )
    reports = tmp_path / "reports"

    def reconciled(run: str, since_ms: int, until_ms: int) -> Found:
        """Times without a zone are UTC's."""
        since = datetime.fromtimestamp(since_ms / 1000, UTC).replace(tzinfo=None)
        until = datetime.fromtimestamp(until_ms / 1000, UTC).astimezone(timezone(timedelta(hours=5, minutes=30)))
        window = (
            "--since",
            since.isoformat(timespec="milliseconds"),
            "--until",
            until.isoformat(timespec="milliseconds"),
        )
        where = ("--reports", str(reports), "--run", run, "--ledger", str(tmp_path / "ledger.csv"))
        assert command("reconcile", "--topic", "work", *where, *window) == 0
        summary = json.loads(capsys.readouterr().out)
        assert summary == json.loads((reports / run / "summary.json").read_text())
        assert (summary["inputs"]["ledger"], summary["inputs"]["topics"]) == ("ledger.csv", ["work"])
        assert summary["inputs"]["of_ledger"] == {
            "left_out_rows": 3,
            "left_out": {"gate-close": 2, "mail": 1},
            "without_id": 0,
            "since_ms": since_ms,
            "until_ms": until_ms,
        }
        rows = pq.read_table(reports / run / "findings").to_pylist()  # type: ignore[no-untyped-call]
        assert {row["topic"] for row in rows} == {"work"}
        return {(row["kind"], row["id"].decode()) for row in rows}

    # From the first millisecond on, up to and without the last.
    assert reconciled("within", at["first"], at["last"]) == {
        ("missing_in_queue", "before"),  # it was done in another time
        ("unknown_to_business", "first"),
        ("unknown_to_business", "between"),
    }
    assert reconciled("beside", at["first"] + 1, at["last"] + 1) == {
        ("missing_in_queue", "before"),
        ("unknown_to_business", "between"),
        ("unknown_to_business", "last"),
    }


def test_two_ledgers_with_ends_and_contents(
    client: RMQ, command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is in a file's second ledger counts like what is in its first; a journal in mode events tells no content."""
    client.define(Topic("work", TopicKind.PRIORITY, slots=1, journal="full"))
    client.define(Topic("mail", TopicKind.PRIORITY, slots=1, journal=Journal.EVENTS))
    for topic in ("work", "mail"):
        for key in ("right", "wrong", "off", "stays"):
            client.send(topic, PriorityMessage("said " + key, 20, key=key, headers={"trace": "t"}))
        client.send(topic, PriorityMessage("itself", 20))
    assert Control(client).cancel("work", ["off"])
    right, itself, other = (sha256(text).hexdigest() for text in (b"said right", b"itself", b"something else"))
    (tmp_path / "one.csv").write_text(
        f"topic,id,content_sha256\nwork,right,{right}\nwork,wrong,{other}\nwork,itself,{itself}\nmail,right,{other}\n"
        f"mail,never,{other}\n"
    )
    ends = "topic,id,expected\nwork,off,cancelled\nwork,stays,cancelled\nwork,right,sent\n"
    (tmp_path / "two.csv").write_text(
        ends + "".join(f"mail,{key},known\n" for key in ("wrong", "off", "stays", "itself"))
    )
    reports = tmp_path / "reports"
    ledgers = ("--ledger", str(tmp_path / "one.csv"), "--ledger", str(tmp_path / "two.csv"))
    assert command("reconcile", "--reports", str(reports), "--run", "r", *ledgers) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["inputs"]["ledger"] == "one.csv, two.csv"
    assert summary["inputs"]["of_ledger"]["contents"] == {
        "compared": 3,
        "not_compared_rows": 1,
        "not_compared": {"mail": 1},
    }
    rows = pq.read_table(reports / "r" / "findings").to_pylist()  # type: ignore[no-untyped-call]
    assert {(row["kind"], row["topic"], row["id"].decode()) for row in rows} == {
        ("not_as_expected", "work", "wrong"),
        ("not_as_expected", "work", "stays"),
        ("missing_in_queue", "mail", "never"),
    }
