"""What a consumer tells of the messages it has taken over HTTP: progress, lines of a log, a result."""

from __future__ import annotations

from typing import Any, Literal

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from ninja import Schema
from pydantic import ConfigDict, Field, JsonValue, model_validator

from console.api.http.routers import topics as router
from console.api.http.schemas import Name, Strict, Text, TopicName
from console.api.messages.consuming import RECEIPT_MAX, delivery_at, load_bodies, may_consume
from console.api.sending.send import engine_for
from rmq_core.client.arguments import UNSET
from rmq_core.model.report import LINE_MAX
from rmq_core.streams.members import signature

TOLD_MOST = 100


class Telling(Strict):
    """`progress`: a number from 0 to 1, or `{"done": 3, "of": 10}`, or what you like. `log`: a line. `result`: kept
    where the topic or the message asks for it (`result_for_ms`); tell it before you settle."""

    receipt: str = Field(min_length=1, max_length=RECEIPT_MAX)
    progress: JsonValue = None
    log: Text = Field("", max_length=LINE_MAX)
    result: JsonValue = None

    @model_validator(mode="after")
    def _something(self) -> Telling:
        if not self.model_fields_set & {"progress", "log", "result"}:
            raise ValueError("tell something: progress, log or result")
        return self


class TellBody(Strict):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"tell": [{"receipt": "q1…", "progress": {"done": 3, "of": 10}}]}]},
    )
    tell: list[Telling] = Field(min_length=1, max_length=TOLD_MOST)
    member: Name | None = Field(
        default=None, min_length=1, max_length=100, description="Of a consumer group: as which they were taken."
    )


class Told(Schema):
    """`stale`: it timed out meanwhile and is somebody else's, or its topic is gone: nothing was kept."""

    id: str
    slot: int
    status: Literal["done", "stale"]


class TellAnswer(Schema):
    results: list[Told]


@router.post(
    "/{rmq_topic:topic}:tell",
    response=TellAnswer,
    tags=["consuming"],
    url_name="tell",
    summary="Tell progress, log lines and results of what was taken",
)
async def tell(request: HttpRequest, topic: TopicName, body: TellBody) -> Any:
    """In the order told. Read it again at `/topics/{topic}/report/{id}`."""
    await sync_to_async(may_consume)(request, topic)
    async with engine_for(request) as engine:
        definition = await engine.client.topic(topic)
        by = "" if body.member is None else signature(definition, body.member)
        retries = definition.max_retries
        deliveries = [delivery_at(f"tell.{n}", topic, each.receipt, by, retries) for n, each in enumerate(body.tell)]
        await load_bodies(engine, topic, deliveries)
        results = []
        for delivery, each in zip(deliveries, body.tell, strict=True):
            given = {name: getattr(each, name) for name in ("progress", "result") if name in each.model_fields_set}
            status = await engine.client.note(
                delivery, progress=given.get("progress", UNSET), log=each.log, result=given.get("result", UNSET)
            )
            results.append({"id": delivery.id, "slot": delivery.slot, "status": status})
    return {"results": results}
