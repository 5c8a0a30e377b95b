"""States as REST names them. What failed and waits for its next try is `retrying`; the engine's own word is `waiting`.

Requests may still say `waiting`; answers never do, since everything in the backlog waits.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator

from console.models import MessageRecord
from rmq_core.model.views import STATES

OURS, ENGINES = "retrying", "waiting"


def said(state: Any) -> Any:
    """A state as answers say it."""
    return OURS if state == ENGINES else state


def _meant(state: str) -> str:
    return ENGINES if state == OURS else state


State = Literal["delayed", "ready", "retrying", "in_flight", "dead", "trash"]
RecordState = Literal["delayed", "ready", "retrying", "in_flight", "dead", "done", "cancelled", "dropped", "unknown"]
assert {_meant(each) for each in get_args(State)} == set(STATES)
assert {_meant(each) for each in get_args(RecordState)} == set(MessageRecord.State.values)

# What a request asks for: the handler gets the engine's word.
AskedState = Annotated[State, BeforeValidator(said), AfterValidator(_meant)]
AskedRecordState = Annotated[RecordState, BeforeValidator(said), AfterValidator(_meant)]
AskedBacklogState = Annotated[Literal["delayed", "ready", "retrying"], BeforeValidator(said), AfterValidator(_meant)]
