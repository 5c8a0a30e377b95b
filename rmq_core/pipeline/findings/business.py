"""The business's ledger against the journal's: what it expects and did not come about, and what it does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmq_core.pipeline.findings.contents import NOT_ACCEPTED
from rmq_core.pipeline.findings.ledger import Ledger
from rmq_core.pipeline.findings.verdicts import WHY, found, where_found
from rmq_core.pipeline.history.replay import MARKS, evidence, ms_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def business(
    ledger: Ledger,
    events: DataFrame,
    here: DataFrame,
    holes: DataFrame | None = None,
    misplaced: DataFrame | None = None,
    contents: DataFrame | None = None,
) -> DataFrame:
    """Messages the business expects and nobody sent or did, or that ended in another way or have another content than
    it expects, and messages of its topics that it does not know.

    ``here``: what the queues hold (columns of `schemas.HISTORIES`). ``holes``: see `gaps.holes`; what may have
    happened in one is not denied. ``misplaced``: messages (``topic``, ``id``) that another finding puts right.
    ``contents``: of `contents.compared`.
    """
    from pyspark.sql import functions as F

    ledger_rows = ledger.rows
    # What a message of that id did before is of another time.
    events = ledger.windowed(events).where(F.col("since_ms").isNull() | (ms_of(F.col("position")) >= F.col("since_ms")))
    ours = _known(events, here)
    wanted = (ledger.promises or ledger_rows).join(ours.withColumn("seen", F.lit(True)), ["topic", "id"], "left")
    # A dead letter is not done, though an earlier life of the same id may have been.
    undone = (F.col("expected") == "done") & F.col("seen") & (~F.coalesce("done", F.lit(False)) | F.col("is_dead"))
    missing = wanted.where((F.col("expected") != "known") & F.col("seen").isNull())
    late = wanted.where(undone)
    other = _otherwise(wanted, contents)
    if holes is not None:
        dark = F.broadcast(holes.select("topic", F.coalesce("slot", F.lit(-1)).alias("slot")).distinct())
        missing = missing.join(dark.select("topic").distinct(), "topic", "left_anti")
        proved = late.where("is_dead")
        late = late.where("NOT is_dead").join(dark, ["topic", "slot"], "left_anti").unionByName(proved)
        # What lies in a queue has not ended, whatever is not known of it; nor are contents compared that may be others.
        unproved = other.where("ends_otherwise AND size(queues) = 0")
        doubtful = unproved.join(dark, ["topic", "slot"], "left_semi").unionByName(
            unproved.join(dark.where("slot = -1").select("topic"), "topic", "left_semi")
        )
        doubtful = doubtful.select("topic", "id", F.lit(True).alias("doubtful")).distinct()
        other = other.join(doubtful, ["topic", "id"], "left")
        other = other.withColumn("ends_otherwise", F.col("ends_otherwise") & F.col("doubtful").isNull())
    named = F.broadcast(ledger_rows.select("topic").distinct())
    outsiders = ours.join(named, "topic", "left_semi").join(ledger_rows, ["topic", "id"], "left_anti")
    timeless = F.col("since_ms").isNull() & F.col("until_ms").isNull()
    # Of others it is not known that they came in that time: before the ledger's end.
    came = F.col("sent_ms").isNotNull() & (F.col("until_ms").isNull() | (F.col("sent_ms") < F.col("until_ms")))
    outsiders = ledger.windowed(outsiders).where(timeless | came)
    late = late.withColumn("misplaced", F.lit(False))
    if misplaced is not None:
        some = F.broadcast(misplaced.select("topic", "id", F.lit(True).alias("misplaced")).distinct())
        late = late.drop("misplaced").join(some, ["topic", "id"], "left").fillna(False, ["misplaced"])
    outsider = F.lit(WHY["unknown_to_business"])
    became = {name: F.col(name) for name in ("queues", "last_event", "last_ms", "error", "message")}
    said = evidence(expected=F.col("expected"), why=F.lit(WHY["missing_in_queue"]))
    repair = F.when(F.col("is_dead") & ~F.col("misplaced"), "requeue_dead").otherwise("none")
    why_not = F.when(F.col("misplaced"), WHY["misplaced"]).when(~F.col("is_dead"), WHY["not_done"])
    ends, differs = F.col("ends_otherwise"), F.col("differs")
    what = F.array_compact(F.array(F.when(ends, "end"), F.when(differs, "content")))
    hashes = {name: F.when(differs, F.col(name)) for name in ("content_sha256", "accepted_sha256")}
    contrary = evidence(
        expected=F.when(ends, F.col("expected")), what=what, **hashes, **became, why=F.lit(WHY["not_as_expected"])
    )
    return (
        found(missing, "missing_in_queue", "none", said)
        .union(found(late, "not_done", repair, evidence(expected=F.col("expected"), **became, why=why_not)))
        .union(found(other.where("ends_otherwise OR differs"), "not_as_expected", "none", contrary))
        .union(found(outsiders, "unknown_to_business", "none", evidence(done=F.col("done"), **became, why=outsider)))
    )


def _otherwise(wanted: DataFrame, contents: DataFrame | None) -> DataFrame:
    """Messages that were sent: which ``ends_otherwise`` than is expected, or of which the content ``differs``, as
    ``accepted_sha256`` is none of ``content_sha256``."""
    from pyspark.sql import functions as F

    expected, outcome = F.col("expected"), F.col("outcome")
    as_expected = (
        F.when(expected == "dead", F.col("is_dead") | F.coalesce(outcome.isin("died", "dropped"), F.lit(False)))
        .when(expected == "expired", F.coalesce(outcome == "lapsed", F.lit(False)))
        .when(expected == "cancelled", F.coalesce(outcome == "cancelled", F.lit(False)))
        .otherwise(True)
    )
    seen = wanted.where("seen").withColumn("ends_otherwise", ~as_expected & ~F.col("sent_after"))
    if contents is None:
        none = {"content_sha256": F.lit(None).cast("array<string>"), "accepted_sha256": F.lit(None).cast("string")}
        return seen.withColumns({**none, "differs": F.lit(False)}).where("ends_otherwise")
    told = contents.where("sha256 IS NOT NULL AND NOT array_contains(contents, sha256)").select(
        "topic", "id", F.col("contents").alias("content_sha256"), F.col("sha256").alias("accepted_sha256")
    )
    both = seen.join(told, ["topic", "id"], "left").withColumn("differs", F.col("accepted_sha256").isNotNull())
    return both.where("ends_otherwise OR differs")


def _known(events: DataFrame, here: DataFrame) -> DataFrame:
    """Per message of journals or queues: ``slot``, ``done`` (ever), ``is_dead`` (now), ``queues``, and what happened
    to it last: ``last_event``, ``last_ms``; ``error`` and ``message`` of its last failure. ``outcome``: the last
    event that says what became of it; ``sent_after``: it was sent (again) after the ledger's time. Needs ``until_ms``.
    """
    from pyspark.sql import functions as F

    at = ("position", "seq")
    refused = (F.col("origin") == "n") & F.col("event").isin(*NOT_ACCEPTED)
    later = (F.col("origin") == "n") & ~refused & (ms_of(F.col("position")) >= F.col("until_ms"))
    happened = (
        events.where(~F.col("event").isin(*MARKS) & (F.length("id") > 0))
        .groupBy("topic", "id")
        .agg(
            F.max("slot").alias("slot"),
            F.max(F.col("event") == "acked").alias("done"),
            F.min(F.when(F.col("origin") == "n", ms_of(F.col("position")))).alias("sent_ms"),
            F.max(F.struct(*at, "event")).alias("last"),
            F.max(F.when((F.col("event") != "erased") & ~refused, F.struct(*at, "event"))).alias("ended"),
            F.max(F.coalesce(later, F.lit(False))).alias("sent_after"),
            F.max(F.when(F.col("error").isNotNull(), F.struct(*at, "error", "message"))).alias("failure"),
        )
    )
    waiting = here.groupBy("topic", "id").agg(
        F.max("slot").alias("live_slot"),
        F.flatten(F.collect_list(where_found())).alias("queues"),
        F.max(F.col("in_dead").isNotNull()).alias("dead_now"),
    )
    return happened.join(waiting, ["topic", "id"], "full").select(
        "topic",
        "id",
        F.coalesce("live_slot", "slot").alias("slot"),
        "done",
        "sent_ms",
        F.coalesce("dead_now", F.lit(False)).alias("is_dead"),
        F.coalesce("queues", F.array().cast("array<string>")).alias("queues"),
        F.col("last.event").alias("last_event"),
        F.col("ended.event").alias("outcome"),
        F.coalesce("sent_after", F.lit(False)).alias("sent_after"),
        ms_of(F.col("last.position")).alias("last_ms"),
        "failure.error",
        "failure.message",
    )
