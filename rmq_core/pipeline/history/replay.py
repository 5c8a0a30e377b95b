"""Transitions → where every message must be, beside where it is: pure DataFrame transforms around `histories`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rmq_core.journal.entries import EVENTS as KNOWN
from rmq_core.journal.entries import MARKS as OF_JOURNALS
from rmq_core.journal.opening import PLACES
from rmq_core.pipeline.history.carried import Closing
from rmq_core.pipeline.history.histories import judge
from rmq_core.pipeline.history.in_order import Slots
from rmq_core.pipeline.history.steps import (
    FLAG_BITS,
    LATER,
    LETTER_BITS,
    LIVE,
    NAMES,
    OLD,
    STEP_BITS,
    TAIL,
    UNKNOWN,
    low,
)
from rmq_core.pipeline.schemas import HISTORIES, INLINE, NO_CONTENT, OWN_CONTENT, PARTS, STEPS, STORED, UNSAID, ddl
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SLOT = ("topic", "slot")
MESSAGE = ("topic", "slot", "id")
MARKS = tuple(sorted(OF_JOURNALS))
_BEHIND_ALL = 2**63 - 1


def replay(
    events: DataFrame,
    snapshot: DataFrame | None = None,
    carried: DataFrame | None = None,
    closing: Closing | None = None,
    slots: Slots | None = None,
) -> DataFrame:
    """The messages of the events and the snapshot: `schemas.HISTORIES`. One shuffle, one sort. Needs ``life``.

    Further columns of the events, false where there are none: ``archived``: an archive holds it, so that it is carried
    into the next closing state; ``later``: what it did is not judged; ``old``: a closing state covers it. ``carried``:
    what that knows of the messages (`schemas.STEPS`). ``slots``: messages that are plainly in order there are left out.
    """
    from pyspark.sql import functions as F

    rows = _steps(events)
    if snapshot is not None:
        rows = rows.unionByName(_live(snapshot))
    if carried is not None:
        rows = rows.unionByName(carried)
    names = [name for name, _, _ in STEPS]
    hashed = rows.select(F.xxhash64(*MESSAGE).alias("hash"), *names).repartition("hash")
    return hashed.sortWithinPartitions("hash").mapInArrow(judge(closing, slots), ddl(HISTORIES))


def _steps(events: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    event = _numbered("event", {name: NAMES.index(name) for name in KNOWN}, F.lit(UNKNOWN))
    letters = {letter: low(letter) for letter in PLACES}
    origin, target = (
        _numbered(name, letters, F.ascii(name).bitwiseAND((1 << LETTER_BITS) - 1)) for name in ("origin", "target")
    )
    step = F.shiftleft(event, STEP_BITS) + F.shiftleft(origin, LETTER_BITS) + target
    for flag, where in (
        (TAIL, ~_flag(events, "archived")),
        (LATER, _flag(events, "later")),
        (OLD, _flag(events, "old")),
    ):
        step = step + F.when(where, flag << FLAG_BITS).otherwise(0)
    unsaid = F.col("body").isNull() & ~F.coalesce("says", F.lit(False))
    # Of what was erased the id is empty: nobody knows whose transitions these are.
    return events.where(~F.col("event").isin(*MARKS) & (F.length("id") > 0)).select(
        *MESSAGE,
        "position",
        "seq",
        F.col("life").cast("int").alias("life"),
        step.cast("int").alias("step"),
        *(F.coalesce(name, F.lit(-1)).cast("long").alias(name) for name in ("score", "due_ms", "priority")),
        F.coalesce("failures", F.lit(-1)).cast("int").alias("failures"),
        F.coalesce("exact", F.lit(float("nan"))).alias("exact"),
        F.when(unsaid & F.coalesce("stored", F.lit(False)), STORED)
        .when(unsaid & (F.col("origin") == "n"), UNSAID)
        .otherwise(content_hash(F.col("body")))
        .alias("content"),
        # What was put back tells of all its failures at once.
        F.when(F.col("error").isNull(), 0)
        .when(F.col("event") == "restored", F.col("failures"))
        .otherwise(1)
        .alias("failed"),
        # The clock of the change; an entry's id may be some ms later.
        F.coalesce(F.unix_millis("at"), ms_of(F.col("position"))).alias("at_ms"),
        F.lit(None).cast("binary").alias("carried"),
    )


def _numbered(column: str, numbers: Mapping[str, int], other: Column) -> Column:
    """The number of a text; compared one by one, for most are among the first: to look in a text costs more."""
    from pyspark.sql import functions as F

    (first, number), *more = numbers.items()
    found = F.when(F.col(column) == first, number)
    for text, number in more:
        found = found.when(F.col(column) == text, number)
    return found.otherwise(other)


def _flag(events: DataFrame, name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(name) if name in events.columns else F.lit(False)


def content_hash(body: Column) -> Column:
    """As in `schemas.STEPS`."""
    from pyspark.sql import functions as F

    hashed = F.xxhash64(body)
    # Four values are taken; a hash that happens to be one of them is as good one further.
    apart = F.when(hashed.isin(STORED, UNSAID, NO_CONTENT, INLINE), hashed + 7).otherwise(hashed)
    return F.when(body.isNull(), NO_CONTENT).when(F.length(body) == 0, INLINE).otherwise(apart)


def _live(snapshot: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    part, none = F.find_in_set(F.col("part"), F.lit(",".join(PARTS))) - 1, F.lit(-1)
    return snapshot.where(part >= 0).select(
        *MESSAGE,
        F.lit(_BEHIND_ALL).alias("position"),
        part.cast("int").alias("seq"),
        F.lit(0).alias("life"),
        (part + (LIVE << STEP_BITS)).cast("int").alias("step"),
        F.coalesce("score", none).cast("long").alias("score"),
        F.col("at_ms").alias("due_ms"),
        none.cast("long").alias("priority"),
        none.cast("int").alias("failures"),
        F.coalesce("exact", F.lit(float("nan"))).alias("exact"),
        content_hash(F.when(F.col("part").isin("body", *OWN_CONTENT), F.col("value"))).alias("content"),
        F.lit(0).alias("failed"),
        none.cast("long").alias("at_ms"),
        F.lit(None).cast("binary").alias("carried"),
    )


def entry_of(position: Column) -> Column:
    """The stream id that a position stands for."""
    from pyspark.sql import functions as F

    ms, sequence = F.shiftright(position, SEQUENCE_BITS), position.bitwiseAND((1 << SEQUENCE_BITS) - 1)
    return F.concat(ms.cast("string"), F.lit("-"), sequence.cast("string"))


def ms_of(position: Column) -> Column:
    """When the entry at a position was written, in ms."""
    from pyspark.sql import functions as F

    return F.shiftright(position, SEQUENCE_BITS)


def evidence(**columns: Any) -> Column:
    """The evidence of a finding as JSON; what is null is left out."""
    from pyspark.sql import functions as F

    return F.to_json(F.struct(*(column.alias(name) for name, column in columns.items())))
