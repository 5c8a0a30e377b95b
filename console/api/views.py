"""Saved views: pages as somebody left them, one's own and shared ones."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path as PathParam
from ninja import Router, Schema, Status
from pydantic import AfterValidator, Field

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.lists import readable
from console.api.http.schemas import Name, Strict
from console.kept import SHARED, views_of
from console.models import SavedView
from console.models.views import ADDRESS_MAX, NAME_MAX
from console.usecases import views as usecase
from rmq_core.model.text import check_name

router = Router(tags=["views"])
Address = Annotated[str, AfterValidator(lambda given: check_name(given, ADDRESS_MAX, least=0))]
Number = Annotated[int, PathParam(ge=1, lt=2**63, description="As the list says.")]


class ViewOut(Schema):
    """`address`: below the console's root; `url`: from the server's. `topic`: what it is of, "" of several."""

    id: int
    name: str
    address: str
    url: str
    topic: str
    shared: bool
    username: str
    saved_ms: int


class ViewList(Schema):
    views: list[ViewOut]


class ViewBody(Strict):
    """`replace`: the one of that name, where there is one; else that is refused."""

    name: Name = Field(min_length=1, max_length=NAME_MAX, examples=["dead orders"])
    address: Address = Field(max_length=ADDRESS_MAX, examples=["topics/orders/messages/?state=retrying"])
    shared: bool = False
    replace: bool = False


@router.get("", response=ViewList, url_name="views", summary="One's saved views and the shared ones, by name")
def all_views(request: HttpRequest) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    return {"views": readable(ViewOut, views_of(caller.user), _view)}


@router.post("", response={201: ViewOut}, url_name="views", summary="Save a view")
def save(request: HttpRequest, response: HttpResponse, body: ViewBody) -> Any:
    """A shared one needs `operate`. Everybody sees it who is for its topic; of no topic: for all those of its saver."""
    caller = caller_of(request)
    made = usecase.save(caller.actor, body.name, body.address, shared=body.shared, replace=body.replace)
    response["Location"] = reverse("console-api:view", kwargs={"number": made.pk})
    return Status(201, _view(made))


@router.get("/{number}", response=ViewOut, url_name="view", summary="One saved view")
def one_view(request: HttpRequest, number: Number) -> dict[str, Any]:
    """One's own or a shared one."""
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    return _view(usecase.find(caller.user, number))


@router.delete("/{number}", response=ViewList, url_name="view-delete", summary="Delete a saved view")
def remove(request: HttpRequest, number: Number) -> dict[str, Any]:
    """One's own, or, with `operate`, a shared one."""
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    usecase.remove(caller.actor, number)
    return all_views(request)


def _view(view: SavedView) -> dict[str, Any]:
    return {
        "id": view.pk,
        **{name: getattr(view, name) for name in ("name", "address", "topic", "username", "saved_ms")},
        "url": reverse("console:overview") + view.address,
        "shared": view.owner == SHARED,
    }
