"""A closing state without what was erased: the newest version of it, and no other."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from rmq_core.errors import PipelineError
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.state import merging, versions
from rmq_core.pipeline.state.closing import FORMAT, ClosingState
from rmq_core.pipeline.state.covered import Covered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Matching = Callable[[DataFrame, str], DataFrame]
    """Joins what is carried with some messages: ``left_semi``, ``left_anti``."""


def newest(kept: Archive) -> ClosingState | None:
    """The newest version, as far as nothing of it was lost. Raises `PipelineError` where another release wrote it."""
    path = ClosingState(kept).path
    names = sorted(versions.manifests(kept.session, path))
    if not names:
        return None
    said = versions.said(kept.session, path, names[-1], FORMAT)
    if said is None:
        raise PipelineError(f"the closing state {names[-1]} is of another release: reconcile once, then erase")
    known = {topic: Covered(**each) for topic, each in said["topics"].items()}
    number, clean = int(names[-1].partition("-")[0]), frozenset(said.get("erased", ()))
    recorded = said.get("kept") or {}
    state = ClosingState(kept, number=number, version=names[-1], run=said["run"], clean=clean, recorded=recorded)
    state.known = {topic: each for topic, each in known.items() if topic not in state.damaged(known)}
    return state


def matching_rows(state: ClosingState | None, matching: Matching) -> int:
    """How many rows of it are of these messages."""
    carried = state.carried() if state else None
    return 0 if carried is None else matching(carried, "left_semi").count()


def forget(
    kept: Archive,
    erasure: str | None,
    matching: Matching,
    contents: DataFrame | None = None,
    scratch: Collection[str] = (),
) -> None:
    """Leaves one version, which has nothing of these messages. ``erasure``: all of whose messages these are;
    ``contents``: which have another one by now; ``scratch``: topics of which it is to know nothing. Raises
    `PipelineError` where what it replaces, and that has something of the erasure, cannot be removed."""
    if (state := newest(kept)) is None:
        return
    state.clean |= {erasure} if erasure else set()
    state.known = {topic: each for topic, each in state.known.items() if topic not in scratch}
    if matching_rows(state, matching) or contents is not None:
        merged = state.new_name(2)
        several = {topic: each.messages for topic, each in state.known.items()}

        def left(rows: DataFrame) -> DataFrame:
            return matching(rows, "left_anti")

        merging.merge(state, merged, state.run or "", state.known, several, left, contents)
    else:
        versions.say(kept.session, state.path, state.version or "", FORMAT, state.clean, state.known.keys())
    if state := newest(kept):
        messages = {folder for each in state.known.values() for folder in each.messages}
        versions.keep_only(kept.session, state.path, state.version or "", messages, whole=erasure is not None)
