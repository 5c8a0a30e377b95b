"""What a topic did, window by window, as reconciliations have added it up; beside an earlier time."""

from __future__ import annotations

from console.options import options
from rmq_core.pipeline.trends import QUANTILES, Known, Trend, Window, known, trend

Row = list[int | bool | None]
Span = Known
NAMES = (
    *("at_ms", "complete", "sent", "merged", "taken", "acked", "retried", "expired", "died", "lapsed", "late"),
    *(f"{name}_p{round(q * 100)}_ms" for name in ("lateness", "end_to_end") for q in QUANTILES),
)
"""Of a row."""
_COUNTED, _TIMES = NAMES[2:11], ("lateness", "end_to_end")


def spans() -> dict[str, Known]:
    """By topic, from when until when all that happened is in its windows. Raises `PipelineError`."""
    return known(options().pipeline_archive)


def windows_of(topic: str, size: str, from_ms: int, to_ms: int) -> Trend | None:
    """None: there are none of this topic. Raises `PipelineError`."""
    return trend(options().pipeline_archive, topic, size, from_ms, to_ms)


def rows(found: Trend, step_ms: int, from_ms: int, to_ms: int) -> list[Row]:
    """A row for each window that begins between these moments: 0 where nothing happened, null where nobody knows."""
    known = {each.start_ms: each for each in found.windows}
    first = -(-from_ms // step_ms) * step_ms
    return [_row(found, known.get(at_ms), at_ms, step_ms) for at_ms in range(first, to_ms, step_ms)]


def _row(found: Trend, window: Window | None, at_ms: int, step_ms: int) -> Row:
    complete = found.since_ms < at_ms + step_ms <= found.complete_ms
    if window is None:
        counts: list[int | None] = [0 if complete else None] * len(_COUNTED)
        return [at_ms, complete, *counts, *[None] * (len(_TIMES) * len(QUANTILES))]
    times = [ms for name in _TIMES for ms in (window.times[name] or [None] * len(QUANTILES))]
    return [at_ms, complete, *(window.counts[name] for name in _COUNTED), *times]
