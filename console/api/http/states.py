"""States in requests and answers. Requests may say those that have another name since; answers never do."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator

from console.models import MessageRecord
from rmq_core.model.states import FORMER, State

RecordState = Literal[
    "delayed",
    "ready",
    "retrying",
    "held",
    "in_flight",
    "dead",
    "done",
    "cancelled",
    "dropped",
    "expired",
    "outdated",
    "lost",
    "unknown",
]
assert set(get_args(RecordState)) == set(MessageRecord.State.values)


def of_today(state: Any) -> Any:
    """A state by its present name."""
    return FORMER.get(state, state) if isinstance(state, str) else state


AskedState = Annotated[State, BeforeValidator(of_today)]
AskedRecordState = Annotated[RecordState, BeforeValidator(of_today)]
AskedBacklogState = Annotated[Literal["delayed", "ready", "retrying", "held"], BeforeValidator(of_today)]
