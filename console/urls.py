"""Every address of the console, for `include`. Live sockets are in `console.live.routing`."""

from django.urls import include, path, register_converter
from django.views.i18n import JavaScriptCatalog

from console.api import api
from console.converters import TabName, TopicName
from console.pages import (
    audit,
    dead,
    definition,
    message,
    operations,
    overview,
    reconciliation,
    send,
    topic,
    workers,
)

register_converter(TopicName, "topic")
register_converter(TabName, "tab")

topic_urls = [
    path("", topic.page, name="topic"),
    path("<tab:tab>/", topic.page, name="topic-tab"),
    path("message/", message.page, name="message"),
    path("send/", send.page, name="send"),
]

urlpatterns = [
    path("", overview.page, name="overview"),
    path("topics/<topic:topic>/", include(topic_urls)),
    path("define/", definition.new, name="define"),
    path("audit/", audit.page, name="audit"),
    path("workers/", workers.page, name="workers"),
    path("dead/", dead.page, name="dead"),
    path("operations/", operations.page, name="operations"),
    path("operations/<uuid:ident>/", operations.one, name="operation"),
    path("reconciliation/", reconciliation.page, name="reconciliation"),
    path("reconciliation/<uuid:ident>/", reconciliation.one, name="run"),
    path("api/v1/", api.urls),
    path("texts.js", JavaScriptCatalog.as_view(packages=["console"]), name="texts"),
]
