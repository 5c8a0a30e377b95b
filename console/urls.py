"""Every address of the console, for `include`. Live sockets are in `console.live.routing`."""

from django.urls import include, path, register_converter
from django.views.i18n import JavaScriptCatalog

from console.api import api
from console.converters import TabName, TopicName
from console.pages import (
    audit,
    bulk,
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
    path("send/do/", send.do, name="send-do"),
    path("dead/resend/", bulk.resend, name="topic-resend"),
    path("dead/export/", bulk.export_dead, name="topic-export"),
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
    path("reconciliation/data/", reconciliation.listed, name="reconciliation-data"),
    path("reconciliation/start/", reconciliation.start, name="reconciliation-start"),
    path("reconciliation/schedule/", reconciliation.schedule, name="reconciliation-schedule"),
    path("reconciliation/<uuid:ident>/", reconciliation.one, name="run"),
    path("reconciliation/<uuid:ident>/data/", reconciliation.data, name="run-data"),
    path("reconciliation/<uuid:ident>/findings/", reconciliation.findings, name="run-findings"),
    path("reconciliation/<uuid:ident>/log/", reconciliation.log, name="run-log"),
    path("reconciliation/<uuid:ident>/report/", reconciliation.report_file, name="run-download"),
    path("reconciliation/<uuid:ident>/stop/", reconciliation.stop, name="run-stop"),
    path("reconciliation/<uuid:ident>/repair/preview/", reconciliation.preview, name="run-preview"),
    path("reconciliation/<uuid:ident>/repair/start/", reconciliation.repair, name="run-repair"),
    path("api/v1/", api.urls),
    path("texts.js", JavaScriptCatalog.as_view(packages=["console"]), name="texts"),
]
