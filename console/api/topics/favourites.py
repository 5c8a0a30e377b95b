"""Favourite topics of whoever asks."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.schemas import TopicName
from console.engine import engine
from console.kept import favourites_of
from console.usecases import favourites as usecase

router = Router(tags=["views"])


class Favourites(Schema):
    """Names of topics; one may be deleted by now."""

    topics: list[str]


@router.get("", response=Favourites, url_name="favourites", summary="One's favourite topics")
def all_favourites(request: HttpRequest) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    return {"topics": favourites_of(caller.user)}


@router.put("/{rmq_topic:topic}", response=Favourites, url_name="favourite", summary="Make a topic a favourite")
def star(request: HttpRequest, topic: TopicName) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    engine().client.topic(topic)  # one that is not there is refused
    usecase.star(caller.user, topic)
    return {"topics": favourites_of(caller.user)}


@router.delete("/{rmq_topic:topic}", response=Favourites, url_name="favourite", summary="A favourite no more")
def unstar(request: HttpRequest, topic: TopicName) -> dict[str, Any]:
    caller = caller_of(request)
    usecase.unstar(caller.user, topic)
    return {"topics": favourites_of(caller.user)}
