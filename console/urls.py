"""Every address of the console, for `include`. Live sockets are in `console.live.routing`."""

from django.urls import URLPattern, URLResolver, include, path
from django.views.i18n import JavaScriptCatalog

from console.api import urls as api_urls
from console.pages import (
    alerts,
    audit,
    dead_letters,
    definition,
    language,
    message,
    operations,
    outbox,
    overview,
    preferences,
    reconciliation,
    recurring,
    routes,
    screens,
    send,
    topic,
    workers,
)
from console.site import site

topic_urls = [
    path("", topic.page, name="topic"),
    path("<rmq_tab:tab>/", topic.page, name="topic-tab"),
    path("message/", message.page, name="message"),
    path("send/", send.page, name="send"),
]

page_urls: list[URLPattern | URLResolver] = [
    path("", overview.page, name="overview"),
    path("topics/<rmq_topic:topic>/", include(topic_urls)),
    path("define/", definition.new, name="define"),
    path("audit/", audit.page, name="audit"),
    path("workers/", workers.page, name="workers"),
    path("routes/", routes.page, name="routes"),
    path("dead/", dead_letters.page, name="dead"),
    path("operations/", operations.page, name="operations"),
    path("operations/<uuid:ident>/", operations.one, name="operation"),
    path("reconciliation/", reconciliation.page, name="reconciliation"),
    path("reconciliation/<uuid:ident>/", reconciliation.one, name="run"),
    path("recurring/", recurring.page, name="recurring"),
    path("alerts/", alerts.page, name="alerts"),
    path("screens/", screens.page, name="screens"),
    path("screens/of/<rmq_route:name>/", screens.one, name="screen"),
    path("screens/<str:secret>/", screens.by_link, name="screen-by-link"),
    path("preferences/", preferences.page, name="preferences"),
    path("outbox/", outbox.page, name="outbox"),
    path("texts.js", JavaScriptCatalog.as_view(packages=["console"]), name="texts"),
    path("language/setlang/", language.choose, name="set_language"),
]

# Three namespaces, for names that collide with nobody's: console, console_admin, console-api.
urlpatterns = [
    path("", include((page_urls, "console"))),
    path("admin/", site.urls),
    path("api/v1/", api_urls),
]
