"""What the pipeline is measured with: made once, in a folder, and used as often as one likes.

::

    <folder>/open-<n>-<new>/      an archive with so many messages open and its closing state, and a dump of their
                                  server, whose journals hold so many transitions that came since
    <folder>/past-<n>-open-…/     the same archive behind so many transitions of messages that have ended long ago
    <folder>/now/                 where all of them are used: an archive is a reader of its journals by its path

A past is not lived through: its files are written as the archive writes them, and the closing state says of them what
it would have said.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.servers import PrivateRedis
from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.pipeline import unchanged
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.history import accounts, figures
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.reading import all_deletions, together
from rmq_core.pipeline.schemas import EVENTS, HISTORIES, STEPS, ddl
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.state import windows
from rmq_core.pipeline.state.closing import opened
from rmq_core.protocol.takes import Ack, cycle, read_cycle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMESPACE = "bench"
SLOTS = 8
PER_MESSAGE = 3  # sent, taken, acked
TAKE = 125
AN_ENTRY = 100
"""So many messages in an entry of the past."""
PRIORITY = 20
AT_ONCE = 10_000_000
"""So many messages are sent before they are archived: until then a server holds their journals, too."""
LOADED_WITHIN_S = 900.0
WARM_UP = (1_000, 3_000)
"""Messages open, and new transitions, of data so small that Spark only gets to know the work."""
_WHOLE = "made.json"


class Prepared:
    """Data in a folder, made by `prepared` or `with_past`."""

    def __init__(self, place: Path, dump: Path) -> None:
        self.place, self.dump = place, dump
        self.now = place.parent / "now"

    @contextmanager
    def used(self, *, empty: bool = False) -> Iterator[tuple[PrivateRedis, Inputs]]:
        """A server with the data, and the archive beside it; both go afterwards. ``empty``: the server lost it all."""
        shutil.rmtree(self.now, ignore_errors=True)
        shutil.copytree(self.place / "archive", self.now / "archive", copy_function=_linked)
        (self.now / "redis").mkdir()
        if not empty:
            shutil.copy2(self.dump, self.now / "redis" / "dump.rdb")
        try:
            with _server(self.now) as server:
                yield server, inputs_of(server, self.now)
        finally:
            shutil.rmtree(self.now, ignore_errors=True)


def _server(now: Path) -> PrivateRedis:
    return PrivateRedis(now / "redis", start_timeout_s=LOADED_WITHIN_S)


def _linked(source: str, target: str) -> None:
    """A copy with the same times; what nobody ever writes again shares its blocks."""
    if source.endswith(".parquet"):
        Path(target).hardlink_to(source)
    else:
        shutil.copy2(source, target)


def inputs_of(server: PrivateRedis, now: Path) -> Inputs:
    """What a reconciliation compares."""
    return Inputs(SourceOptions(server.url, NAMESPACE, ()), f"{now}/archive", f"{now}/reports")


def reconciled(session: SparkSession, inputs: Inputs) -> dict[str, Any]:
    """A summary that must be clean."""
    summary = reconcile(session, inputs)
    if summary["counts"]:
        raise RuntimeError(f"a clean run has findings: {summary['counts']}")
    return summary


def prepared(session: SparkSession, folder: Path, waiting: int, new: int) -> Prepared:
    """So many messages open, and so many transitions of others behind the closing state."""
    place = folder / f"open-{waiting}-{new}"
    found = Prepared(place, place / "dump.rdb")
    if (place / _WHOLE).exists():
        return found
    began, now = time.monotonic(), found.now
    shutil.rmtree(place, ignore_errors=True)
    shutil.rmtree(now, ignore_errors=True)
    (now / "redis").mkdir(parents=True)
    with _server(now) as server:
        inputs = inputs_of(server, now)
        with RMQ(server.url, NAMESPACE) as client:
            plain = Topic("work", TopicKind.PRIORITY, slots=SLOTS, journal=Journal.EVENTS, journal_max=0)
            client.define(replace(plain, name="open", journal=Journal.FULL))
            work = client.define(plain)
            archive(session, inputs.options, f"{now}/archive", compacting=False)
            for start in range(0, waiting, AT_ONCE):
                several = range(start, min(start + AT_ONCE, waiting))
                client.send_many("open", (PriorityMessage(f"open-{i:08d}", priority=PRIORITY) for i in several))
                archive(session, inputs.options, f"{now}/archive", compacting=False)
            reconciled(session, inputs)
            done(client, work, new)
        with server.client(socket_timeout=LOADED_WITHIN_S) as bare:
            bare.execute_command("SAVE")
        place.mkdir(parents=True)
        shutil.move(now / "archive", place / "archive")
        shutil.move(now / "redis" / "dump.rdb", found.dump)
    _told(place, began)
    return found


def with_past(session: SparkSession, base: Prepared, transitions: int) -> Prepared:
    """The same behind so many transitions that have ended."""
    place = base.place.with_name(f"past-{transitions}-{base.place.name}")
    found = Prepared(place, base.dump)
    if (place / _WHOLE).exists():
        return found
    began = time.monotonic()
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(base.place / "archive", place / "archive", copy_function=_linked)
    _close_with_past(session, f"{place}/archive", transitions)
    _told(place, began)
    return found


def _told(place: Path, began: float) -> None:
    seconds = round(time.monotonic() - began, 1)
    (place / _WHOLE).write_text(json.dumps({"made_in_s": seconds}))
    print(f"  made {place.name} in {seconds} s", flush=True)


def done(client: RMQ, topic: Topic, transitions: int) -> None:
    """So many transitions of messages that are sent, taken and done, as a worker does it."""
    left, taken = transitions // PER_MESSAGE, dict[int, list[Ack]]({slot: [] for slot in range(SLOTS)})
    client.send_many(topic.name, (PriorityMessage(f"new-{i:08d}", priority=PRIORITY) for i in range(left)))
    while left > 0 or any(taken.values()):
        most = TAKE if left > 0 else 0
        requests = [cycle(client.keyspace, topic, slot, most, acks=acks) for slot, acks in taken.items()]
        for slot, reply in enumerate(client.connection.run(requests)):
            found = read_cycle(topic, slot, reply).deliveries
            taken[slot] = [Ack(each.raw_id, each.receipt) for each in found]
            left -= len(found)


def write_past(session: SparkSession, events: str, transitions: int) -> str:
    """So many transitions of yesterday, sent, taken and acked, into the first batch of an archive; returns the folder.
    They come as they are stored, so nothing is shuffled or sorted: each task makes one slot."""
    from pyspark.sql import functions as F

    in_slot = max(1, transitions // PER_MESSAGE // SLOTS // AN_ENTRY) * AN_ENTRY * PER_MESSAGE
    day = datetime.now(UTC) - timedelta(days=1)
    began_ms = int(day.replace(hour=0, minute=0, second=0, microsecond=0).timestamp() * 1000)
    place, slot = F.col("id") % in_slot, F.floor(F.col("id") / in_slot).cast("int")
    rows = session.range(0, in_slot * SLOTS, 1, SLOTS).select(slot.alias("slot"), place.alias("place"))
    entry = F.floor(F.col("place") / AN_ENTRY)
    step = (entry % PER_MESSAGE).cast("int")
    message = F.floor(entry / PER_MESSAGE) * AN_ENTRY + F.col("place") % AN_ENTRY
    ms = F.lit(began_ms) + entry

    def one_of(*values: Any) -> Any:
        return F.get(F.array(*(F.lit(value) for value in values)), step)

    known = {
        "slot": F.col("slot"),
        "entry": F.concat(ms.cast("string"), F.lit("-0")),
        "position": F.shiftleft(ms, SEQUENCE_BITS),
        "n": entry + 1,
        "seq": (F.col("place") % AN_ENTRY).cast("int"),
        "at": F.timestamp_millis(ms),
        "event": one_of("sent", "taken", "acked"),
        "origin": one_of("n", "s", "p"),
        "target": one_of("s", "p", "-"),
        "id": F.encode(F.concat(F.lit("past-"), F.col("slot"), F.lit("-"), message), "utf-8"),
        "score": F.when(step == 0, PRIORITY).cast("long"),
        "priority": F.when(step == 0, PRIORITY).cast("long"),
        "size": F.lit(AN_ENTRY),
        "says": F.lit(False),
    }
    stored = [each for each in EVENTS if each[0] not in ("topic", "date")]
    columns = [known.get(name, F.lit(None)).cast(spark).alias(name) for name, spark, _ in stored]
    folder = f"{events}/topic=work/date={day:%Y-%m-%d}/batch=000000000000"
    rows.select(*columns).write.mode("overwrite").option("maxRecordsPerFile", 5_000_000).parquet(folder)
    return folder


def _close_with_past(session: SparkSession, path: str, transitions: int) -> None:
    """Writes a past into an archive whose books are closed, and closes them again."""
    kept = Archive(session, path).pinned()
    names = [topic.name for topic in kept.definitions()]
    state = opened(kept, names, all_deletions(kept, {}))
    if state.scratch:
        raise RuntimeError(f"the closing state does not hold: {state.scratch}")
    folder = write_past(session, kept.events, transitions)
    state.now = unchanged.listing(session, kept.events)
    known = {name: state.table(name) for name in ("accounts", "ends", "sketches")}
    before = known["accounts"]
    assert before is not None and known["sketches"] is not None
    journal = session.createDataFrame([], ddl(EVENTS))
    events = together(kept, journal, {}, paths=[folder])
    lively = accounts.with_lives(events, accounts.starts(before))
    new = accounts.accounts(lively, twice=True).where("closed").drop("closed")
    tables = {
        "messages": _no_messages(session),
        "accounts": accounts.added(before, new),
        "ends": figures.added_ends(known["ends"], figures.ends(lively).where("archived")),
        "sketches": known["sketches"],
        "windows": windows.of_news(lively, session.createDataFrame([], ddl(HISTORIES))),
    }
    state.close(names, "past", tables, state.forks())


def _no_messages(session: SparkSession) -> Any:
    """Those that have ended are carried no more."""
    return session.createDataFrame([], ddl(STEPS))
