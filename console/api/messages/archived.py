"""What the archive knows of a message, when nothing else does any more."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Schema

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.errors import ApiError
from console.api.http.routers import topics as router
from console.api.http.schemas import MessageId, TopicName
from console.api.messages.record import Recorded, Step, shown
from console.serializers.records import record_json, steps_json
from console.usecases import archived
from console.usecases.runs import run_places
from rmq_core.errors import PipelineError
from rmq_core.model.ids import id_from_text


class ArchivedLife(Schema):
    """As far as the archived `steps` tell: how a message stood that began before them is not known."""

    record: Recorded
    steps: list[Step]


class ArchivedMessage(Schema):
    """`lives`: one per slot that has known the id. `first`, `last`: the days (UTC) that were looked at; null: there was
    none. `before`: ask with it to go on further back; null: everything was looked at."""

    lives: list[ArchivedLife]
    first: date | None
    last: date | None
    before: date | None


@router.get(
    "/{rmq_topic:topic}/archived/{path:id}",
    response=ArchivedMessage,
    by_alias=True,
    tags=["record"],
    url_name="archived",
    summary="What the archive knows of a message that is long gone",
)
def of_archived(
    request: HttpRequest,
    topic: TopicName,
    id: MessageId,
    before: Annotated[date | None, Query(description="Only days before this one.")] = None,
) -> dict[str, Any]:
    """Looked for day by day from the newest on, for three seconds, or until its send is found."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    try:
        found, look = archived.find(topic, id_from_text(id), before)
    except PipelineError as error:
        raise ApiError(503, "no_archive", run_places.plain(str(error))) from None
    except ImportError:
        raise ApiError(503, "no_archive", "This console has no library to read the archive with.") from None
    except archived.Busy:
        raise ApiError(503, "busy", "Others look into the archive just now; try again.") from None
    lives = [
        {
            "record": shown(record_json(each.record, caller.payload)),
            "steps": [shown(step) for step in steps_json(each.steps, each.record.slot, caller.payload)],
        }
        for each in found
    ]
    return {"lives": lives, "first": look.first, "last": look.last, "before": look.before}
