"""Whose messages an erasure takes: of equal ids and slot bases, of streams, and under the names of former topics; and
what a reconciliation that runs meanwhile may keep of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow.parquet as pq
import pytest

from rmq_core import RMQ, Addressed, Control, PriorityMessage, StreamMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError
from rmq_core.pipeline import files
from rmq_core.pipeline.archive import erasures, redacted
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.bases import messages_of
from rmq_core.pipeline.jobs import reconcile as reconciling
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.erasing import Left, erase
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.state import merging
from rmq_core.pipeline.state.closing import ClosingState
from rmq_core.protocol.keys import slot_for

ELSEWHERE = next(name for name in ("1", "2", "3", "4") if slot_for(name.encode(), 2) != slot_for(b"42", 2))
"""A customer in another slot than 42: the same id is another message there."""


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: entries of a stream are taken away by hand."""
    with EmbeddedRedis() as own:
        yield own


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [row for file in path.rglob("*.parquet") for row in pq.ParquetFile(file).read().to_pylist()]  # type: ignore[no-untyped-call]


def define(client: RMQ, name: str, kind: TopicKind = TopicKind.PRIORITY) -> None:
    client.define(Topic(name, kind, slots=2, journal="full", **({} if kind is TopicKind.STREAM else {"undo_ms": 0})))


def live(client: RMQ) -> None:
    """Customer 42 has an order 7, customer 7 an order 42; and both are in streams."""
    for name in ("orders", "was-queue"):
        define(client, name)
    for name in ("news", "was-stream"):
        define(client, name, TopicKind.STREAM)
    client.define_group("news", "all", start="start")
    client.send("orders", PriorityMessage("mine: of 42", priority=50, key="7", slot_basis="42"))
    client.send("orders", PriorityMessage("of 7", priority=50, key="42", slot_basis="7"))
    client.send("orders", PriorityMessage("of another", priority=50, key="7", slot_basis=ELSEWHERE))
    after = Addressed("orders", "of 7, too", priority=50, key="42", slot_basis="7")
    client.send("orders", "of 9", priority=50, key="9", if_done=after)
    client.send("was-queue", PriorityMessage("mine: 42", priority=50, key="42"))
    client.send("was-queue", PriorityMessage("of 8", priority=50, key="8"))
    for name in ("news", "was-stream"):
        client.send(name, StreamMessage("mine", slot_basis="42", id="5-1"))
        client.send(name, StreamMessage("of another", slot_basis=ELSEWHERE, id="5-1"))
    client.send("news", StreamMessage("of 7, and 1:b2:42", slot_basis="7"))
    client.send("news", StreamMessage("1:b2:42"))
    for name in ("orders", "orders", "was-queue", "news@all"):
        client.ack(client.take(name, 10))


def test_who_is_meant(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    path, options = tmp_path / "archive", SourceOptions(server.url, "whose", (), 4)
    with RMQ(server.url, "whose") as client, server.client() as raw:
        live(client)
        archive(spark, options, str(path), compacting=False)
        for name, kind in (("was-queue", TopicKind.STREAM), ("was-stream", TopicKind.PRIORITY)):
            Control(client).delete_topic(name, force=True)
            define(client, name, kind)
        entry = client.send("was-queue", StreamMessage("of now", slot_basis="9")).id
        kept = erase(spark, options, str(path), slot_bases=[b"42"], dry_run=True).left
        assert kept == (Left("news", "5-1", "redis"),), "the stream has it still"
        for slot in range(2):
            raw.xtrim(client.keyspace.slot("news", slot).store, maxlen=0)
        archive(spark, options, str(path), compacting=False)
        older = Archive(spark, str(path)).read().selectExpr("*", "topic of").drop("basis")
        found = messages_of(older.selectExpr("*", "cast(null as binary) basis").where("topic = 'news'"), [], [b"42"])
        assert [(row.slot, bytes(row.id)) for row in found.collect()] == [(slot_for(b"42", 2), b"5-1")], "of its body"
        did = erase(spark, options, str(path), slot_bases=[b"42"], reason="asked")
        assert (did.messages, did.left, did.mentioning) == (4, (), 0)
        rows = rows_of(path / "events")
        assert [row for row in rows if b"mine" in (row["body"] or b"") or row["basis"] == b"42"] == []
        assert sum(b"of another" in (row["body"] or b"") for row in rows) == 3
        home = {row["slot"] for row in rows if row["id"] in (b"7", b"5-1")}
        assert home == {slot_for(ELSEWHERE.encode(), 2)}, "under the same ids"
        others = [row["body"] for row in rows if b"of 7" in (row["body"] or b"")]
        assert len(others) == 4, "three messages, and the one that tells of the second of them"
        assert {b"42", b"9", b"8", (entry or "").encode()} <= {row["id"] for row in rows}
        assert {row["basis"] for row in rows if row["id"] == b"42"} == {b"7", None}
        assert erase(spark, options, str(path), ids=[b"8", b"42"], reason="asked").messages == 2, "by its own id"


def test_what_closes_after_an_erasure_keeps_nothing(
    spark: Any, server: EmbeddedRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It began when the erasure was already noted, and had read all before that was done."""
    path, options = tmp_path / "archive", SourceOptions(server.url, "whose", (), 4)
    with RMQ(server.url, "whose") as client, server.client() as raw:
        define(client, "orders")
        sent = client.send("orders", PriorityMessage("mine", priority=50, key="ann"))
        client.send("orders", PriorityMessage("other", priority=50, key="bob"))
        archive(spark, options, str(path), compacting=False)
        keys = client.keyspace.slot("orders", sent.slot)
        assert raw.zrem(keys.store, "ann") and raw.hdel(keys.body, "ann")
    read, erased, caught = Event(), Event(), list[Exception]()
    check, commit = ClosingState.check_erased, redacted.commit

    def run() -> None:
        try:
            reconcile(spark, Inputs(options, str(path), str(tmp_path / "reports")))
        except PipelineError as error:
            caught.append(error)
        finally:
            read.set()

    reconciling = Thread(target=run)

    def patient(state: ClosingState) -> None:
        read.set()
        assert erased.wait(600)
        check(state)

    def late(*given: Any) -> None:
        reconciling.start()
        assert read.wait(600)
        commit(*given)

    monkeypatch.setattr(ClosingState, "check_erased", patient)
    monkeypatch.setattr(redacted, "commit", late)
    try:
        assert erase(spark, options, str(path), ids=[b"ann"], reason="asked").messages == 1
    finally:
        erased.set()
        reconciling.join()
    assert [str(error) for error in caught] == ["messages were erased from the archive meanwhile: run it again"]
    assert not any(b"ann" in repr(row).encode() for row in rows_of(path))


@pytest.mark.parametrize("stopped", [False, True], ids=["erased", "asked to end"])
def test_what_is_erased_while_a_state_is_made_one_is_in_none(
    spark: Any, server: EmbeddedRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    """The last step of closing reads again what it has carried so far."""
    path, options = tmp_path / "archive", SourceOptions(server.url, "whose", (), 4)
    with RMQ(server.url, "whose") as client:
        define(client, "orders")
        client.send("orders", PriorityMessage("mine", priority=50, key="ann"))
        archive(spark, options, str(path), compacting=False)
    merge = merging.merge

    def erased_meanwhile(state: ClosingState, *given: Any) -> None:
        merge(state, *given)
        if stopped:
            raise KeyboardInterrupt
        begun = erasures.begin(spark, str(path), "asked", {("orders", b"ann")}, 1)
        erasures.end(spark, str(path), begun, 1)

    monkeypatch.setattr(merging, "FOLDERS_MOST", 0)
    monkeypatch.setattr(merging, "merge", erased_meanwhile)
    with pytest.raises(KeyboardInterrupt if stopped else PipelineError):
        reconcile(spark, Inputs(options, str(path), str(tmp_path / "reports")))
    assert [each for each in (path / "state").rglob("*") if not each.name.startswith(".")] == []


def test_whether_anything_was_erased_is_told_by_a_listing(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of large erasures are large, and every round asks. Each step of one is another answer."""
    begun = erasures.begin(spark, str(tmp_path), "asked", {("orders", b"ann")}, 1)
    answers = [erasures.known(spark, str(tmp_path))]
    erasures.end(spark, str(tmp_path), begun, 0)
    (tmp_path / erasures.FOLDER / "renamed-meanwhile.json").symlink_to("gone")
    with monkeypatch.context() as patched:
        patched.setattr(files, "read_text", None)
        answers.append(erasures.known(spark, str(tmp_path)))
    assert [len(each) for each in answers] == [1, 1] and answers[0] != answers[1]
    (size_of_begun,), (size_of_ended,) = ([size for _, size, _ in each] for each in answers)
    assert size_of_ended > size_of_begun, "also where the clock of the files is coarse"


def test_a_run_whose_tables_were_taken_away_is_told_why_and_nothing_erased_takes_none(
    spark: Any, server: EmbeddedRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, options, reports = tmp_path / "archive", SourceOptions(server.url, "taken", (), 4), tmp_path / "reports"
    inputs = Inputs(options, str(path), str(reports))
    with RMQ(server.url, "taken") as client:
        define(client, "orders")
        client.send("orders", PriorityMessage("of 9", priority=50, key="9"))
        client.send("orders", PriorityMessage("waits", priority=50, key="8"))
        client.ack(client.take("orders", 1))
        archive(spark, options, str(path), compacting=False)

        erased, original = list[bytes](), reconciling.report.write_findings

        def write_findings(*given: Any) -> Any:
            for id in erased:
                erase(spark, options, str(path), ids=[id], reason="asked", reports=str(reports))
            return original(*given)

        monkeypatch.setattr(reconciling.report, "write_findings", write_findings)
        erased[:] = [b"8", b"nobody"]  # in use, so it stays; and what the archive has nothing of
        assert reconcile(spark, inputs)["counts"] == {}
        erased[:] = [b"9"]
        with pytest.raises(PipelineError, match="erased from the archive meanwhile"):
            reconcile(spark, inputs)
