"""The table "Copies of one id" of docs/explanation/merging.md, read and held: what each of its cells says, as a check.

A cell speaks of one copy (its column) in an operation (its row). Where the check of its words fails, or the words have
none, the document is wrong, or the queue.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from tests.engine.model.deeds import FAILING, OLDER, Deed, Waiting
from tests.engine.model.held import RETRIED_MAX, SHIFT

DOCUMENT = Path(__file__).parents[3] / "docs" / "explanation" / "merging.md"
COLUMNS = {
    "a copy waits": "waiting",
    "a copy is in flight": "flight",
    "a copy is dead": "dead",
    "a copy is in the trash": "trash",
}
Check = Callable[[Deed], bool]


# -- sending


def merges_unchanged(deed: Deed) -> bool:
    return deed.counted("merged") == 1 and deed.stays("waiting", "flight", "dead", "trash")


def merges(deed: Deed, *, with_content: bool = False) -> bool:
    if deed.brings_older and deed.operation != OLDER:
        return merges_unchanged(deed)
    now = deed.after.waiting
    brought = not with_content or (now is not None and now.body is not None and now.body != deed.before.waiting.body)  # type: ignore[union-attr]
    return deed.counted("merged") == 1 and now is not None and brought and deed.stays("flight", "dead", "trash")


def second_waits(deed: Deed, *, with_content: bool = False) -> bool:
    if deed.before.waiting:
        return deed.stays("flight", "dead", "trash")
    if deed.brings_older and deed.operation != OLDER:
        return merges_unchanged(deed)
    now = deed.after.waiting
    own = not with_content or (now is not None and now.body is not None)
    return deed.counted("merged") == 0 and now is not None and own and deed.stays("flight", "dead", "trash")


def older_merges(deed: Deed) -> bool:
    """Of one in flight without a version, every send is as new."""
    return second_waits(deed) if deed.operation == OLDER and not deed.brings_older else merges_unchanged(deed)


def waits(deed: Deed) -> bool:
    """Nothing else is known of the id that would count."""
    if deed.before.waiting or deed.before.flight:
        return deed.counted("sent") == 1 and deed.stays("dead", "trash")
    new = deed.counted("sent") == 1 and deed.counted("merged") == 0
    return new and deed.after.waiting is not None and deed.stays("dead", "trash")


def second_merges_into_first(deed: Deed) -> bool:
    """Three of the id in one batch, the last with the newest content."""
    now = deed.after.waiting
    merged = deed.counted("merged") == 2 + (deed.before.waiting is not None)
    newest = now is not None and now.body is not None and now.body.version == 3
    return merged and newest and deed.stays("flight", "dead", "trash")


# -- taking, settling


def taken(deed: Deed) -> bool:
    if deed.before.flight or deed.before.waiting.queue == "retry":  # type: ignore[union-attr]
        return deed.stays("waiting", "flight")
    now = deed.after.flight
    return deed.after.waiting is None and now is not None and now.body == deed.before.waiting.body  # type: ignore[union-attr]


def holds_back(deed: Deed) -> bool:
    now = deed.after.flight
    same = now is not None and (now.failures, now.body) == (deed.before.flight.failures, deed.before.flight.body)  # type: ignore[union-attr]
    # Only for its row it was given more time.
    return same and not deed.after.ready and (deed.operation == "promote" or deed.stays("flight"))


def done_and_free(deed: Deed) -> bool:
    waits = deed.after.waiting
    later = waits is None or waits.queue == "retry" or (deed.model.topic.timed and waits.score > deed.model.now_ms)
    free = deed.after.ready or later
    return deed.counted("acked") == 1 and deed.after.flight is None and free


def late_merges(deed: Deed) -> bool:
    """What was in flight goes into the one that waits."""
    if deed.before.flight is None:
        return deed.stays("waiting")
    return deed.stays("waiting") and deed.counted("merged") == 1 and deed.after.flight is None


def fails_into(queue: str) -> Check:
    def check(deed: Deed) -> bool:
        body, now = deed.before.flight.body, deed.after  # type: ignore[union-attr]
        if not deed.fails:
            return now.flight is None and deed.counted("retried") == deed.counted("died") == 0
        if deed.dies:
            return now.flight is None and now.waiting is None and deed.counted("died") == 1 and now.dead.body == body  # type: ignore[union-attr]
        where = now.waiting is not None and (now.waiting.queue, now.waiting.body) == (queue, body)
        return now.flight is None and where and deed.counted("retried") == 1

    return check


def dead_makes_room(deed: Deed) -> bool:
    if not deed.trashes_the_dead:
        return deed.operation in FAILING and deed.stays("dead")
    old, now = deed.before.dead, deed.after.trash
    assert old is not None
    return now is not None and (now.queue, now.body, now.failures) == ("dead", old.body, old.failures)


def replaced_by_the_dead(deed: Deed) -> bool:
    return dead_makes_room(deed) if deed.trashes_the_dead else deed.operation in FAILING and deed.stays("trash")


def back_uncounted(deed: Deed) -> bool:
    flight, now = deed.before.flight, deed.after.waiting
    assert flight is not None
    if not deed.fails:
        return deed.after.flight is None
    score = deed.model.left(flight.failures) if flight.failures else flight.place
    same = now is not None and now == Waiting("store", score, flight.body)
    return deed.after.flight is None and same and deed.counted("retried") == deed.counted("died") == 0


def waits_uncounted(deed: Deed) -> bool:
    flight, now = deed.before.flight, deed.after.waiting
    assert flight is not None
    if not deed.fails:
        return deed.after.flight is None
    same = now is not None and (now.queue, int(now.score) % SHIFT, now.body) == ("retry", flight.failures, flight.body)
    return deed.after.flight is None and same and deed.counted("retried") == 0


def new_receipt(deed: Deed) -> bool:
    old, now = deed.before.flight, deed.after.flight
    return old is not None and now is not None and now.receipt != old.receipt and now.failures == old.failures


def taken_alone(deed: Deed) -> bool:
    return deed.counted("expired") == 1 and deed.counted("released") == 0


def run_out(deed: Deed) -> bool:
    if taken_alone(deed):
        return fails_into("store")(deed)
    return back_uncounted(deed) and deed.after.suspect == deed.fails


def as_nack(column: str, check: Check) -> Check:
    def runs_out(deed: Deed) -> bool:
        if deed.before.flight and taken_alone(deed):
            return check(deed)
        return deed.operation in ("run out of time", "takeover") and deed.stays(column)

    return runs_out


# -- what operators do


def promoted(deed: Deed) -> bool:
    old, now = deed.before.waiting, deed.after.waiting
    assert old is not None
    return deed.stays("waiting") if old.queue == "store" else now is not None and now.queue == "store"


def refused(reply: str, column: str) -> Check:
    """Where none waits. Of what is in flight it is said that it is, whatever else is dead."""

    def check(deed: Deed) -> bool:
        if deed.before.waiting:
            return deed.stays(column)
        told = "in_flight" if deed.before.flight else reply
        return deed.told == told and deed.stays("waiting", "flight", "dead", "trash")

    return check


def to_the_trash(column: str) -> Check:
    """For ``undo_ms``; gone at once where that is 0."""

    def check(deed: Deed) -> bool:
        old, now = getattr(deed.before, column), deed.after.trash
        if deed.told != "done" or getattr(deed.after, column) is not None:
            return False
        if not deed.model.topic.undo_ms:
            return now is None
        queue = old.queue if isinstance(old, Waiting) else "dead"
        return now is not None and (now.queue, now.body) == (queue, old.body)

    return check


def replaced_by(column: str) -> Check:
    return lambda deed: to_the_trash(column)(deed) if getattr(deed.before, column) else deed.stays("trash")


def elsewhere(deed: Deed) -> bool:
    old, now = deed.before.waiting, deed.after.waiting
    assert old is not None
    moved = now is not None and (now.queue, now.score) != (old.queue, old.score) and now.body == old.body
    return deed.told == "done" and moved


def is_ready(deed: Deed) -> bool:
    old, now = deed.before.waiting, deed.after.waiting
    assert old is not None
    if deed.told != "done" or now is None or now.queue != "store":
        return False
    kept = old.queue == "store" or deed.model.failed(now.score) == int(old.score) % SHIFT
    return kept and (deed.after.ready or deed.before.flight is not None)


def requeued_beside(deed: Deed) -> bool:
    if deed.before.dead is None:
        return deed.told == "not_found" and deed.stays("waiting", "trash")
    now = deed.after.trash
    gone = now is not None and deed.after.dead is None and now.body == deed.before.dead.body
    return deed.stays("waiting") and gone and deed.counted("merged") == 1


def requeued(deed: Deed) -> bool:
    if deed.before.waiting:
        return requeued_beside(deed)
    old, now = deed.before.dead, deed.after.waiting
    assert old is not None
    if now is None or deed.after.dead is not None or (now.queue, now.body) != ("store", old.body):
        return False
    priority = deed.model.topic.timed or (now.score > RETRIED_MAX and math.ceil(now.score) == math.ceil(old.priority))  # type: ignore[arg-type]
    return priority and deed.model.failed(now.score) == 0


def requeue_replaces(deed: Deed) -> bool:
    return requeued_beside(deed) if deed.before.waiting and deed.before.dead else deed.stays("trash")


def restore_merges(deed: Deed) -> bool:
    old = deed.before.trash
    if old is None or old.queue == "dead":
        return deed.stays("waiting")
    return deed.stays("waiting") and deed.after.trash is None and deed.counted("merged") == 1


def occupied(deed: Deed) -> bool:
    old = deed.before.trash
    if old is not None and old.queue == "dead":
        return deed.told == "occupied" and deed.stays("waiting", "dead", "trash")
    return deed.stays("dead") and (old is None or (deed.told == "done" and deed.after.waiting is not None))


def back_where_it_was(deed: Deed) -> bool:
    old = deed.before.trash
    assert old is not None
    if deed.before.dead and old.queue == "dead":
        return occupied(deed)
    if deed.told != "done" or deed.after.trash is not None:
        return False
    if old.queue == "dead":
        return deed.after.dead is not None and deed.after.dead.body == old.body
    now = deed.after.waiting
    return bool(deed.before.waiting) or (now is not None and (now.queue, now.body) == (old.queue, old.body))


def expires(deed: Deed) -> bool:
    """One in flight holds it back, and so does its own retry, which a duplicate does not end on a range-merge topic."""
    before = deed.before.waiting
    held = deed.before.flight or (before and before.queue == "retry" and not deed.ends_retries)
    return bool(deed.after.waiting) if held else not deed.after.waiting and deed.counted("lapsed") == 1


def stays(column: str) -> Check:
    return lambda deed: deed.stays(column)


SAYS: dict[tuple[str, str], Check] = {
    ("waiting", "merges into it"): merges,
    ("waiting", 'merges into it, with its content (`merge="latest"`)'): lambda deed: merges(deed, with_content=True),
    ("waiting", "merges, changes nothing"): merges_unchanged,
    ("waiting", "in flight, where it is ready and none is already"): taken,
    ("waiting", "stays; the failed one merges into it"): late_merges,
    ("waiting", "stays; the rejected one merges into it"): late_merges,
    ("waiting", "stays; the released one merges into it"): late_merges,
    ("waiting", "stays; the late one merges into it"): late_merges,
    ("waiting", "retry: into store, where its time has come"): promoted,
    ("waiting", "to the trash (`undo_ms`)"): to_the_trash("waiting"),
    ("waiting", "has another time or priority, behind its equals"): elsewhere,
    ("waiting", "ready; a retry keeps its count"): is_ready,
    ("waiting", "gone at the next take or send that meets it"): expires,
    ("waiting", "stays; the dead one goes to the trash"): requeued_beside,
    ("waiting", "stays; one that waited merges into it"): restore_merges,
    ("flight", "a second one waits"): second_waits,
    ("flight", "a second one waits, with its own content"): lambda deed: second_waits(deed, with_content=True),
    ("flight", "merges, changes nothing"): older_merges,
    ("flight", "stays, and holds back the one that waits"): holds_back,
    ("flight", "stays, and holds back the requeued one"): holds_back,
    ("flight", "stays, and holds back the restored one"): holds_back,
    ("flight", "holds it back"): holds_back,
    ("flight", "stays, and holds back the late one"): holds_back,
    ("flight", "done; the one that waits is free"): done_and_free,
    ("flight", "waits in store, or dies"): fails_into("store"),
    ("flight", "waits in retry, or dies"): fails_into("retry"),
    ("flight", "dies"): fails_into("nowhere"),
    ("flight", "back to its place, uncounted"): back_uncounted,
    ("flight", "waits in retry, uncounted"): waits_uncounted,
    ("flight", "has a new receipt"): new_receipt,
    ("flight", "taken alone: as nack; with others: back to its place, a suspect"): run_out,
    ("flight", "`in_flight`, where none waits"): refused("in_flight", "flight"),
    ("dead", "a second one waits"): second_waits,
    ("dead", "waits: the dead do not count"): waits,
    ("dead", "goes to the trash where the failed one dies"): dead_makes_room,
    ("dead", "goes to the trash where the rejected one dies"): dead_makes_room,
    ("dead", "as nack"): as_nack("dead", dead_makes_room),
    ("dead", "`not_found`, where none waits"): refused("not_found", "dead"),
    ("dead", "waits with every retry, its content, its priority"): requeued,
    ("dead", "to the trash (`undo_ms`)"): to_the_trash("dead"),
    ("dead", "`occupied`: a dead one stays in the trash; one that waited comes back"): occupied,
    ("trash", "a second one waits"): second_waits,
    ("trash", "waits"): waits,
    ("trash", "replaced where a dead letter goes there"): replaced_by_the_dead,
    ("trash", "as nack"): as_nack("trash", replaced_by_the_dead),
    ("trash", "replaced by the cancelled one"): replaced_by("waiting"),
    ("trash", "replaced by the dropped one"): replaced_by("dead"),
    ("trash", "replaced, where one waits"): requeue_replaces,
    ("trash", "back to where it was"): back_where_it_was,
    **{(column, "stays"): stays(column) for column in COLUMNS.values()},
    **{(column, "the second merges into the first"): second_merges_into_first for column in COLUMNS.values()},
}
TOLD_ELSEWHERE = {
    "what stands behind a suspect stays",
    "with `removed_ms`, only a copy that was removed then, else `replaced`",
}
"""What concerns more than the copies of one id, or another argument: `test_cells` has a test for each."""


def table() -> dict[str, dict[str, str]]:
    """Operation → column → what the cell says; "the same" is what the cell above says."""
    text = DOCUMENT.read_text().split("## Copies of one id")[1].split("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    (_, *heads), _, *rows = lines
    columns = [COLUMNS[head] for head in heads]
    found: dict[str, dict[str, str]] = {}
    above = dict.fromkeys(columns, "")
    for operation, *cells in rows:
        said = dict(zip(columns, cells, strict=True))
        above = found[operation] = {
            column: cell.replace("the same", above[column]) if cell.startswith("the same") else cell
            for column, cell in said.items()
        }
    return found


def spoken(cell: str) -> str:
    """A cell without what other tests tell."""
    return "; ".join(part for part in cell.split("; ") if part not in TOLD_ELSEWHERE)


def check(cells: dict[str, dict[str, str]], deed: Deed) -> None:
    """Every cell that speaks of a copy which was there."""
    for column, cell in cells[deed.operation].items():
        if getattr(deed.before, column) is not None:
            assert SAYS[column, spoken(cell)](deed), (
                f"{deed.operation}: {column}: {cell!r} is not so:\n{deed.before}\n{deed.after}"
            )
