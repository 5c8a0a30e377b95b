"""REST under `/api/v1`, one module per resource. `gate` stands before all of them."""

from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.urls import re_path
from django.views.decorators.http import require_safe

from console import converters  # noqa: F401  (of the addresses below)
from console.api import (
    alert_receivers,
    alerts,
    audit,
    fleet,
    health,
    me,
    metrics,
    operations,
    outbox,
    recurring,
    screen_links,
    screens,
    views,
)
from console.api.http import errors, routers
from console.api.http.bodies import StrictParser
from console.api.http.description import ABOUT, ConsoleAPI
from console.api.http.docs import Docs
from console.api.http.gate import guarded
from console.api.http.query_strings import strict_query
from console.api.messages import (  # noqa: F401  (of `routers.topics`)
    archived,
    biography,
    bulk,
    clusters,
    consuming,
    dead_letters,
    queries,
    record,
    reports,
    searching,
    telling,
    why,
)
from console.api.runs import calendar, findings, reconciliations, schedules  # noqa: F401  (of `routers.topics`)
from console.api.sending import send, sets  # noqa: F401  (of `routers.topics`)
from console.api.streams import entries, groups, routes  # noqa: F401  (of `routers.topics`)
from console.api.topics import (  # noqa: F401  (of `routers.topics`)
    bands,
    definitions,
    favourites,
    forecast,
    history,
    history_moment,
    holds,
    order,
    ownership,
    problems,
    status,
    tenants,
    windows,
)

api = ConsoleAPI(
    title="RMQ Console",
    version="1",
    description=ABOUT,
    docs=Docs(),
    docs_decorator=require_safe,
    parser=StrictParser(),
    urls_namespace="console-api",
)
errors.install(api)
api.add_decorator(strict_query, mode="view")
api.add_router("/me", me.router)
api.add_router("/topics", routers.topics)
api.add_router("/dead", clusters.router)
api.add_router("/operations", operations.router)
api.add_router("/history", history.router)
api.add_router("/workers", fleet.router)
api.add_router("/reconciliations/schedules", schedules.router)
api.add_router("/reconciliations", reconciliations.router)
api.add_router("/routes", routes.router)
api.add_router("/audit", audit.router)
api.add_router("/alerts/receivers", alert_receivers.router)
api.add_router("/alerts", alerts.router)
api.add_router("/screens", screens.router)
api.add_router("/links", screen_links.router)
api.add_router("/problems", problems.router)
api.add_router("/views", views.router)
api.add_router("/favourites", favourites.router)
api.add_router("/sets", sets.router)
api.add_router("/recurring", recurring.router)
api.add_router("/outbox", outbox.router)
api.add_router("/metrics", metrics.router)
api.add_router("/health", health.router, tags=["health"])


def _nothing(request: HttpRequest) -> HttpResponse:
    return HttpResponseNotFound()


_patterns, _app, _namespace = api.urls
urls = (guarded([*_patterns, re_path("", _nothing)]), _app, _namespace)
"""For `path`."""
