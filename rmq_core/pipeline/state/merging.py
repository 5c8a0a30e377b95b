"""Few folders of messages instead of many, which readers of a closing state would have to join.

Of a topic the newest are merged, as far as those before are not much larger. So a large one is written anew only when
what came since is a fair part of it, however many rounds there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rmq_core.pipeline import files
from rmq_core.pipeline.state import versions
from rmq_core.pipeline.state.closing import FORMAT, PARTED, ClosingState
from rmq_core.pipeline.state.covered import Covered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FOLDERS_MOST = 8
"""What a state's messages lie in more folders than that is merged."""
LARGER = 4
"""A folder so many times as large as all that came after it stays as it is."""


def merge_newest(state: ClosingState, run: str, closed: str) -> None:
    """Merges folders of topics that have many. Raises what `ClosingState.close` does, and then leaves nothing of what
    that had ``closed``, either."""
    known = state.others | state.known
    if all(len(each.messages) <= FOLDERS_MOST for each in known.values()):
        return
    sizes = _sizes(files.tree(state.archive.session, state.path))
    folder = state.new_name(1)
    with state.dropped_if_broken_off(folder, closed):
        several = {topic: newest(each.messages, sizes.get(topic, {})) for topic, each in known.items()}
        # Of what is merged nobody would miss what was lost.
        several |= {topic: [] for topic in state.damaged(state.others)}
        merge(state, folder, run, known, several)
        state.check_erased()
    versions.prune(state.archive.session, state.path, FORMAT, PARTED, state.clean)


def newest(folders: Sequence[str], sizes: Mapping[str, int]) -> list[str]:
    """Those of one topic that are merged, the oldest first; empty: none. ``sizes``: bytes by folder."""
    if len(folders) <= FOLDERS_MOST:
        return []
    first, behind = max(0, len(folders) - 2), sum(sizes.get(each, 0) for each in folders[-2:])
    while first > 0 and sizes.get(folders[first - 1], 0) <= LARGER * behind:
        first -= 1
        behind += sizes.get(folders[first], 0)
    return [*folders[first:]]


def _sizes(listed: Iterable[tuple[str, int, int]]) -> dict[str, dict[str, int]]:
    """By topic and folder, the bytes of its messages. ``listed``: see `files.tree`."""
    found: dict[str, dict[str, int]] = {}
    for path, size, _ in listed:
        parts = path.split("/")
        if len(parts) == 4 and parts[1] == "messages" and parts[2].startswith("topic="):
            of = found.setdefault(parts[2].removeprefix("topic="), {})
            of[parts[0]] = of.get(parts[0], 0) + size
    return found


def merge(
    state: ClosingState,
    folder: str,
    run: str,
    known: Mapping[str, Covered],
    several: Mapping[str, list[str]],
    left: Callable[[DataFrame], DataFrame] | None = None,
    contents: DataFrame | None = None,
) -> None:
    """A version with one folder of messages instead of ``several``, by topic. ``left``: what is left of the rest;
    ``contents``: which have another content by now (see `mentions.CHANGED`)."""
    rows = state.messages(several)
    if rows is not None:
        older = [topic for topic, names in several.items() if known[topic].messages != names]
        rows = _last(rows, older)
        rows = rows if left is None else left(rows)
        rows = rows if contents is None else _with_contents(rows, contents)
        rows.write.mode("overwrite").partitionBy("topic").parquet(f"{state.path}/{folder}/messages")
    state.write(folder, run, {topic: _instead(each, several.get(topic, []), folder) for topic, each in known.items()})


def _instead(covered: Covered, names: list[str], folder: str) -> Covered:
    if not names:
        return covered
    return replace(covered, messages=[*(name for name in covered.messages if name not in names), folder])


def _last(rows: DataFrame, older: list[str]) -> DataFrame:
    """Of each message what was carried last. That it has ended is kept where ``older`` folders of its topic stay."""
    from pyspark.sql import functions as F
    from pyspark.sql.window import Window

    newest = F.max("position").over(Window.partitionBy("topic", "slot", "id"))
    wanted = (F.col("position") == F.col("newest")) & ((F.length("carried") > 0) | F.col("topic").isin(older))
    return rows.withColumn("newest", newest).where(wanted).drop("newest")


def _with_contents(rows: DataFrame, contents: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    others = F.broadcast(contents.withColumnRenamed("before", "content"))
    rows = rows.join(others, ["topic", "slot", "id", "content"], "left")
    return rows.withColumn("content", F.coalesce("after", "content")).drop("after")
