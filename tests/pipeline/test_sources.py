"""What a notebook reads: bounded batches, the columns it wants, archives; and the notebook of the documents."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import ConfigurationError
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.sentences import sentence
from rmq_core.pipeline.sources import bounding, register
from rmq_core.pipeline.sources.journal import JournalStream
from rmq_core.pipeline.sources.options import SourceOptions
from tests.docs.blocks import ROOT
from tests.pipeline.journal_rows import be_busy, exactly, more, rows, transitions

NOTEBOOK = ROOT / "docs" / "tutorials" / "messages-in-a-notebook.ipynb"


def options_of(client: RMQ, **more: str) -> dict[str, str]:
    return {"url": client.target.url, "namespace": client.keyspace.namespace} | more


@pytest.mark.parametrize("counted", [bounding.COUNTED, 0])
def test_a_batch_of_a_stream_has_no_more_entries_than_it_may(
    client: RMQ, counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Spark asks for them: from where the last one ended; every slot comes to its end, whatever the others have.
    A share is counted, or looked for by its numbers: of many in one millisecond, too."""
    monkeypatch.setattr(bounding, "COUNTED", counted)
    client.define(Topic("work", TopicKind.PRIORITY, slots=4, journal="full"))
    for n in range(40):
        client.send("work", PriorityMessage(f"m{n}", priority=100, slot_basis="big" if n < 30 else f"small{n}"))
    stream = JournalStream(SourceOptions.read(options_of(client, maxEntriesPerTrigger="7")))
    stream.prepareForTriggerAvailableNow()
    client.send("work", PriorityMessage("later", priority=100))
    start, found, batches = dict[str, Any](), list[tuple[int, int]](), 0
    while (end := stream.latestOffset(start, None)) != start:
        read = [batch for part in stream.partitions(start, end) for batch in stream.read(part)]
        entries = {(row["slot"], row["n"]) for batch in read for row in batch.to_pylist()}
        assert 1 <= len(entries) <= 7
        assert len(entries) == 7 or len(found) > 30, "what one slot does not need the others have"
        found, batches, start = [*found, *entries], batches + 1, end
    assert len(found) == len(set(found)) == 40 + 4 and batches >= 7  # each journal says that it began
    for entries_most in ("0", "many", "inf"):
        with pytest.raises(Exception, match="maxEntriesPerTrigger"):
            SourceOptions.read(options_of(client, maxEntriesPerTrigger=entries_most))


def test_who_wants_some_columns_gets_these(spark: Any, client: RMQ, tmp_path: Path) -> None:
    be_busy(client)
    wanted, path = transitions(client), str(tmp_path / "archive")
    register(spark)
    reader = spark.read.options(**options_of(client))
    found = reader.schema("event string, id binary").format("rmq_journal").load().collect()
    assert sorted((row.event, bytes(row.id)) for row in found) == sorted((each[6], each[7]) for each in wanted)
    seen = reader.schema("part string, topic string").format("rmq_queues").load().where("part = 'dead'").collect()
    assert [tuple(row) for row in seen] == [("dead", "work")]
    archive(spark, SourceOptions.read(options_of(client)), path)
    plain = spark.read.format("rmq_archive")
    exactly(rows(plain.load(path)), wanted)
    later = plain.option("topics", "later").schema("topic string, at timestamp").load(path).collect()
    assert {row.topic for row in later} == {"later"} and len(later) == sum(each[0] == "later" for each in wanted)
    first = datetime.fromtimestamp(min(each[5] for each in wanted) / 1000, UTC)
    for since, until, there in ((first, first + timedelta(days=1), True), (first - timedelta(days=9), first, False)):
        some = spark.read.format("rmq_archive").option("since", since.isoformat()).option("until", until.isoformat())
        assert (some.load(path).count() == len(wanted)) is there
    for schema, said in (("id string", "the column 'id' is a binary, not a string"), ("x int", "there is no column")):
        with pytest.raises(Exception, match="rmq_core") as caught:
            spark.read.format("rmq_archive").schema(schema).load(path).collect()
        assert sentence(caught.value).startswith(said)
    with pytest.raises(Exception, match="rmq_core") as caught:
        spark.read.format("rmq_archive").load().collect()
    assert sentence(caught.value) == "the option 'path' is missing: which archive to read"


def test_what_nobody_wants_is_not_read(spark: Any, client: RMQ, redis_server: EmbeddedRedis) -> None:
    be_busy(client)
    register(spark)

    def asked(command: str) -> int:
        stats = redis_server.client().info("commandstats")
        return int(stats.get(f"cmdstat_{command}", {}).get("calls", 0))

    def of(source: str, **options: str) -> list[Any]:
        return spark.read.options(**options_of(client, **options)).format(source).load().drop("at_ms").collect()

    every = of("rmq_queues")
    before = [asked(each) for each in ("hscan", "zscan")]
    dead = of("rmq_queues", parts="dead, prepare", topics="work")
    assert dead == [row for row in every if row.topic == "work" and row.part in ("dead", "prepare")] != []
    scans = asked("zscan") - before[1]
    assert (asked("hscan"), scans) == (before[0], 2 * client.topic("work").slots)
    slot, last = dead[0].slot, client.topic("work").slots - 1
    here = of("rmq_queues", parts="dead", topics="work", slots=f"{slot}, {last}-4095")
    assert here == [row for row in dead if row.part == "dead" and row.slot in (slot, last)] != []
    assert asked("zscan") - before[1] == scans + len({slot, last})
    assert {row.part for row in of("rmq_queues", parts="begin,end")} == {"begin", "end"}

    wanted, reads = transitions(client), asked("xrange")
    here = of("rmq_journal", topics="later", slots="0")
    assert len(here) == sum(each[:2] == ("later", 0) for each in wanted) > 0
    assert asked("xrange") - reads == 2, "where its journal begins, and what is in it"
    for source, options, said in (
        ("rmq_queues", {"parts": "dead,living"}, "there is no part 'living'"),
        ("rmq_journal", {"parts": "dead"}, "'parts' is none"),
    ):
        with pytest.raises(Exception, match=said):
            of(source, **options)
    with pytest.raises(Exception, match="'slots' is none"):
        stream = spark.readStream.options(**options_of(client, slots="0")).format("rmq_journal").load()
        stream.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()


def test_what_one_query_does_not_want_another_may(spark: Any, client: RMQ, tmp_path: Path) -> None:
    """Spark plans one read for all that is made of a frame."""
    be_busy(client)
    register(spark)
    path = str(tmp_path / "archive")
    archive(spark, SourceOptions.read(options_of(client)), path)
    more(client, 1)
    reader = spark.read.options(**options_of(client, path=path))
    for source, where in (
        ("rmq_queues", "part = 'dead'"),
        ("rmq_queues", "topic IN ('work', NULL)"),
        ("rmq_journal", "slot = 0"),
        ("rmq_archive", "topic = 'later'"),
        ("rmq_archive", "topic IN ('later', 'a\\0b')"),
    ):
        frame = reader.format(source).load()
        names = [name for name in frame.columns if name not in ("at_ms", "position")]
        frame = frame.select(*names)
        every = frame.count()
        some = frame.where(where)
        few = some.count()
        assert 0 < few < every, (source, where)
        assert frame.count() == every
        assert some.union(frame.where(f"NOT ({where})" if "NULL" not in where else "topic <> 'work'")).count() == every
        frame.createOrReplaceTempView("seen")
        counted = spark.sql(f"SELECT count(*), (SELECT count(*) FROM seen WHERE {where}) FROM seen").first()
        assert tuple(counted) == (every, few)


@pytest.mark.filterwarnings("ignore:the option retry_for_s:FutureWarning")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("retry_for_ms", text) for text in ("nan", "inf", "-1", "1.5", "", "86400001", "²")),
        *(("retry_for_s", text) for text in ("nan", "inf", "-1", "soon", "86401")),
        *(("slots_per_partition", text) for text in ("0", "8.9", "4097", "1e3", "nan")),
        *(("maxEntriesPerTrigger", text) for text in ("0", "1.5", "-3", "1000000001", "nan")),
        *(("slots", text) for text in ("-1", "4096", "3-1", "a", "0-", "0-4096", "1,,2", ",", "\0", "²")),
    ],
)
def test_an_option_is_what_it_must_be(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        SourceOptions.read({"url": "redis://localhost", name: value})


def test_slots_are_named_alone_and_in_ranges() -> None:
    def slots(text: str) -> tuple[int, ...]:
        return SourceOptions.read({"url": "redis://localhost", "slots": text}).slots

    assert (slots(""), slots(" 3 "), slots("12, 0-2,1"), slots("4095-4095")) == ((), (3,), (0, 1, 2, 12), (4095,))


def test_the_notebook_runs(spark: Any, client: RMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/tutorials: every cell, from the first to the last."""
    be_busy(client)
    path = str(tmp_path / "archive")
    archive(spark, SourceOptions.read(options_of(client)), path)
    more(client, 1)  # of which the journals tell, for the archive has trimmed what it has
    for name, value in (("URL", client.target.url), ("NAMESPACE", client.keyspace.namespace), ("ARCHIVE", path)):
        monkeypatch.setenv(f"RMQ_{name}", value)
    names: dict[str, Any] = {}
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        exec(compile("".join(cell["source"]), NOTEBOOK.name, "exec"), names)
    assert names["waiting"].count() > 0 and names["events"].count() > 0 and names["archived"].count() > 0
    assert (
        spark.sql("SELECT * FROM seen").count() > 0 and len([line for line in cells[0]["source"] if line.strip()]) == 5
    )
