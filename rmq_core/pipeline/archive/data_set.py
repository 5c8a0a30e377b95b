"""Whose journals an archive holds: noted in it at its first run, compared before anything is read, written or trimmed.

A data set is a namespace on a server, from its beginning to its loss. What tells it from others is kept in Redis with
the rest (`Keyspace.data_set`), so it survives what the data survives: restarts, failovers, other addresses, restored
dumps. One of the same namespace that began after all that the archive holds is its successor: the same one, begun anew
after a loss or a deletion. See ``docs/decisions/146-archives-know-their-data-set.md``.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from rmq_core.client.rmq import RMQ
from rmq_core.errors import PipelineError
from rmq_core.journal import reader
from rmq_core.model import formats
from rmq_core.model.formats import ARCHIVE
from rmq_core.model.topic import Topic
from rmq_core.ops import data_set
from rmq_core.pipeline import durable
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.history.replay import MARKS
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS, position_of
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.queries import definitions

COLUMNS = "format int, namespace string, id string, began_ms long"


@dataclass(frozen=True)
class DataSet:
    """``id``: a random word; None: it has none yet, as before its first archive."""

    namespace: str
    id: str | None
    began_ms: int

    @property
    def word(self) -> str:
        """As the server keeps it."""
        return f"{self.began_ms} {self.id}"


def claim(options: SourceOptions, kept: Archive) -> str:
    """Notes in the archive that it holds this data set, and returns the word by which the server knows it. Raises
    `PipelineError` where the archive holds another one."""
    noted = check(options, kept)
    with _client(options) as client:
        ours = _here(client)
        if ours.id is None:
            known = noted.id if noted and _as_old(noted, ours) else None
            made = replace(ours, id=known or uuid.uuid4().hex)
            ours = _parsed(options.namespace, client.run(data_set.keep(client.keyspace, made.word)))
    if noted is None or noted.id != ours.id:
        row = (ARCHIVE, ours.namespace, ours.id, ours.began_ms)
        small(kept.session, [row], COLUMNS).coalesce(1).write.mode("append").json(kept.data_sets)
        durable.keep(kept.session, kept.data_sets)
        check(options, kept)  # of two that began at once, and have both written, one goes on
    return ours.word


def check(options: SourceOptions, kept: Archive) -> DataSet | None:
    """What the archive holds; None before its first note. Raises `PipelineError` where that is another data set."""
    with _client(options) as client:
        ours, topics = _here(client), client.run(definitions.read_all(client.keyspace))
    noted, until_ms = _noted(kept), end_ms(kept)
    if noted is None:
        if other := _other_topic(kept, topics, until_ms):
            raise PipelineError(_refusal(kept, f"another topic {other!r} than the one here"))
    elif noted.namespace != ours.namespace:
        raise PipelineError(_refusal(kept, f"the namespace {noted.namespace!r}, not {ours.namespace!r}"))
    elif (
        noted.id != ours.id
        and not (ours.id is None and _as_old(noted, ours))
        and ours.began_ms <= max(until_ms, noted.began_ms)
    ):
        raise PipelineError(
            _refusal(kept, f"another server's namespace {noted.namespace!r}")
            + f"; if it was this one before its data was put back, remove {kept.data_sets}"
        )
    return noted


def check_restorable(options: SourceOptions, kept: Archive, topics: list[Topic]) -> None:
    """Raises `PipelineError` where messages of another data set lived in ``topics`` while the archive was written.

    Whosever it is, an archive may be restored where there were none, or what there was came later.
    """
    try:
        check(options, kept)
    except PipelineError:
        until_ms = end_ms(kept)
        with _client(options) as client:
            if any(_lived(client, topic, until_ms) for topic in topics):
                raise


def _lived(client: RMQ, topic: Topic, until_ms: int) -> bool:
    """Whether anything happened in a topic until then; an entry of each journal says only that it began."""
    seen = client.run(reader.read(client.keyspace, topic, count=2))
    trimmed = {slot: at.n for slot, at in seen.positions.items()}
    trimmed |= {each.slot: each.n - 1 for each in reversed(seen.transitions)}
    early = (each.at_ms <= until_ms for each in seen.transitions if each.event not in MARKS)
    return max(trimmed.values()) > 1 or any(early)


def _client(options: SourceOptions) -> RMQ:
    return RMQ(options.url, options.namespace, allow_eviction=True, retry_for_ms=options.retry_for_ms)


def _here(client: RMQ) -> DataSet:
    """As old as its oldest topic, before it has an id."""
    kept = client.run(data_set.read(client.keyspace))
    if kept is not None:
        return _parsed(client.keyspace.namespace, kept)
    topics = client.run(definitions.read_all(client.keyspace))
    ((seconds, micros),) = client.connection.run([("TIME",)])
    now_ms = int(seconds) * 1000 + int(micros) // 1000
    return DataSet(client.keyspace.namespace, None, min((each.created_ms for each in topics), default=now_ms))


def _parsed(namespace: str, kept: bytes) -> DataSet:
    began_ms, id = kept.decode().split(" ")
    return DataSet(namespace, id, int(began_ms))


def _as_old(noted: DataSet, ours: DataSet) -> bool:
    """A dump from before it had an id was put back."""
    return noted.began_ms == ours.began_ms > 0


def _noted(kept: Archive) -> DataSet | None:
    """The last of those that followed each other."""
    rows = kept.notes_in(kept.data_sets)
    for row in rows:
        formats.check(f"the archive {kept.path}", row["format"], ARCHIVE)
    last = max(rows, key=lambda row: (row["began_ms"], row["id"]), default=None)
    return DataSet(last["namespace"], last["id"], last["began_ms"]) if last else None


def end_ms(kept: Archive) -> int:
    """When the last of what the archive holds happened, by the server's clock."""
    ends = (end for slots in kept.committed_offsets().values() for end in slots.values())
    return max((position_of(end) >> SEQUENCE_BITS for end in ends), default=-1)


def _other_topic(kept: Archive, topics: list[Topic], until_ms: int) -> str | None:
    """Of an archive without a note: a topic that was here before its end, and is not the one that it knows."""
    known: dict[str, set[tuple[int, int]]] = {}
    for name, version, updated_ms in kept.versions():
        known.setdefault(name, set()).add((version, updated_ms))
    for topic in topics:
        versions = known.get(topic.name, set())
        newer = topic.version > max((version for version, _ in versions), default=-1)
        if not newer and (topic.version, topic.updated_ms) not in versions and topic.updated_ms <= until_ms:
            return topic.name
    return None


def _refusal(kept: Archive, whose: str) -> str:
    return (
        f"the archive {kept.path} holds {whose}: nothing was read, changed or trimmed."
        " Each namespace of each server needs a path of its own"
    )
