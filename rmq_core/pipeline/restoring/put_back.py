"""Putting copies of messages back into queues: on the executors, many messages of a slot at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rmq_core.client.rmq import RMQ
from rmq_core.model.scores import PRIORITY_MIN
from rmq_core.model.topic import Topic
from rmq_core.ops.putting_back import AT_ONCE, BYTES_AT_ONCE, Done, Gone, Task, put_back
from rmq_core.pipeline.findings.repair_data import packed_copy
from rmq_core.pipeline.restoring.arrivals import Arrivals, Reached
from rmq_core.pipeline.sources.options import SourceOptions

if TYPE_CHECKING:
    import pyarrow

COLUMNS = (
    *("topic", "slot", "id", "copy", "queue", "score", "exact", "priority", "failures"),
    *("first_failed_ms", "failed_ms", "failed_at", "body", "failure"),
)
"""Of the rows of `putter`, each a copy; in this order."""
RESULT = "topic string, what string, copies long"
RESTORED, PRESENT, WITHOUT_CONTENT = "restored", "present", "without_content"
CALLS_AT_ONCE = 4
_LETTERS = {"waiting": "w", "in_flight": "f", "dead": "d"}


def putter(
    options: SourceOptions,
    topics: list[Topic],
    since_ms: int,
    reached: Mapping[tuple[str, int], Reached],
    restore: str,
    *,
    inline: bool = False,
) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    """For ``mapInArrow``: rows of `COLUMNS` in, of a message one behind the other, and those of a slot together; out
    comes of each topic (`RESULT`) how many copies there are in each state, how many were put back, and how many were
    there. ``reached``: of slots in which it is looked for what is sent meanwhile. ``restore``: its name, of
    `putting_back.begin`. ``inline``: a copy without a body has its id for its content; else it is not put."""
    definitions = {topic.name: topic for topic in topics}

    def put(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        task = Task(restore, context.partitionId() if context else 0)
        with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_ms=options.retry_for_ms) as client:
            arrivals = dict[tuple[str, int], Arrivals]()
            places, done = Counter[tuple[str, int]](), dict[tuple[str, int], Done]()
            for several in _whole_messages(batches):
                found = Counter[tuple[str, str]]()
                for (name, slot), rows in groupby(several, itemgetter(0, 1)):
                    topic = definitions[name]
                    if (name, slot) in reached and (name, slot) not in arrivals:
                        arrivals[name, slot] = Arrivals(client, topic, slot, reached[name, slot])
                    gone = _gone(rows, topic, _now_ms(client), found, inline=inline)
                    for some in _chunks(gone):
                        first = places[name, slot]
                        places[name, slot] += len(some)
                        # Another attempt of this task may have done some of them, or be at it.
                        while (before := done.get((name, slot), Done())).messages < places[name, slot]:
                            left = some[before.messages - first :]
                            if news := arrivals.get((name, slot)):
                                left = _without(left, news.ids())
                            putting = put_back(client.keyspace, topic, slot, left, since_ms, task, before)
                            now = done[name, slot] = client.run(putting)
                            found[name, RESTORED] += now.back - before.back
                            found[name, PRESENT] += now.there - before.there
                columns = [[name for name, _ in found], [what for _, what in found], list(found.values())]
                yield pa.record_batch(columns, names=["topic", "what", "copies"])

    return put


def _whole_messages(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of batches; those of the last message wait for the next batch, which may go on with it."""
    held: list[tuple[Any, ...]] = []
    for batch in batches:
        rows = held + list(zip(*(batch.column(name).to_pylist() for name in COLUMNS), strict=True))
        start = len(rows)
        while start and rows[start - 1][:3] == rows[-1][:3]:
            start -= 1
        if start:
            yield rows[:start]
        held = rows[start:]
    if held:
        yield held


def _gone(
    rows: Iterable[tuple[Any, ...]], topic: Topic, now_ms: int, found: Counter[tuple[str, str]], *, inline: bool
) -> Iterator[Gone]:
    """The messages of rows of one slot; counts their copies."""
    name, timed = topic.name, topic.timed
    for id_, of_id in groupby(rows, itemgetter(2)):
        had, copies = "", list[bytes]()
        for _, _, _, copy, queue, score, exact, priority, *of_failure, body, failure in of_id:
            if body is None and not inline:
                found[name, WITHOUT_CONTENT] += 1
                continue
            content = body or b""
            if failure is None and copy == "waiting" and queue == "s" and (exact or 0) >= PRIORITY_MIN:
                # As `packed_copy` has it; nearly all are of this kind.
                copies.append(b"s %r - - - %b %b" % (exact, b"%d" % len(content) if content else b"-", content))
            else:
                row = dict(zip(COLUMNS[8:12], of_failure, strict=True))
                row |= {"copy": copy, "queue": queue, "score": score, "exact": exact, "priority": priority}
                copies.append(packed_copy(row | {"body": content, "failure": failure}, timed, now_ms))
            had += _LETTERS[copy]
            found[name, "retrying" if copy == "waiting" and queue == "r" else copy] += 1
        if copies:
            yield Gone(id_, had, tuple(copies))


def _chunks(messages: Iterable[Gone]) -> Iterator[list[Gone]]:
    some, size = list[Gone](), 0
    for each in messages:
        some.append(each)
        size += sum(map(len, each.copies))
        if len(some) >= AT_ONCE * CALLS_AT_ONCE or size >= BYTES_AT_ONCE * CALLS_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _without(messages: list[Gone], sent: set[bytes]) -> list[Gone]:
    """Of messages that were sent again only the dead letters are to be put back, whatever became of them."""
    return [_dead_alone(each) if each.id in sent else each for each in messages]


def _dead_alone(message: Gone) -> Gone:
    had = "".join("d" if letter == "d" else "-" for letter in message.had)
    copies = zip(had, message.copies, strict=True)
    return Gone(message.id, had, tuple(copy if letter == "d" else b"" for letter, copy in copies))


def _now_ms(client: RMQ) -> int:
    """The server's clock."""
    ((seconds, _),) = client.connection.run([("TIME",)])
    return int(seconds) * 1000
