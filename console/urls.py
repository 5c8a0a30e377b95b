"""Every address of the console, for `include`. Live sockets are in `console.live.routing`."""

from django.urls import include, path
from django.views.i18n import JavaScriptCatalog, set_language

from console.api import urls as api_urls
from console.pages import (
    act,
    audit,
    bulk,
    dead,
    definition,
    message,
    messages,
    operations,
    overview,
    reconciliation,
    record,
    send,
    topic,
    workers,
)
from console.site import site

topic_urls = [
    path("", topic.page, name="topic"),
    path("<rmq_tab:tab>/", topic.page, name="topic-tab"),
    path("message/", message.page, name="message"),
    path("message/content/", message.content, name="message-content"),
    path("data/timeline/", workers.timeline, name="topic-timeline"),
    path("data/rows/", messages.rows, name="topic-rows"),
    path("data/find/", messages.find, name="topic-find"),
    path("data/search/", messages.search, name="topic-search"),
    path("data/slots/<int:number>/", messages.slot, name="topic-slot"),
    path("data/actions/", audit.of_message, name="message-actions"),
    path("data/record/", record.of_message, name="message-record"),
    path("data/definition/", definition.data, name="definition-data"),
    path("definition/plan/", definition.plan, name="definition-plan"),
    path("definition/save/", definition.save, name="definition-save"),
    path("definition/rollback/", definition.rollback, name="definition-rollback"),
    path("definition/delete/", definition.delete, name="definition-delete"),
    path("send/", send.page, name="send"),
    path("send/do/", send.do, name="send-do"),
    path("data/clusters/", dead.of_topic, name="topic-clusters"),
    path("act/<slug:action>/", act.act, name="topic-act"),
    path("bulk/preview/", bulk.preview, name="topic-bulk-preview"),
    path("bulk/start/", bulk.start, name="topic-bulk-start"),
    path("dead/resend/", bulk.resend, name="topic-resend"),
    path("dead/export/", bulk.export_dead, name="topic-export"),
]

page_urls = [
    path("", overview.page, name="overview"),
    path("topics/<rmq_topic:topic>/", include(topic_urls)),
    path("define/", definition.new, name="define"),
    path("define/plan/", definition.plan, name="define-plan"),
    path("define/save/", definition.save, name="define-save"),
    path("audit/", audit.page, name="audit"),
    path("audit/data/", audit.data, name="audit-data"),
    path("audit/<int:number>/", audit.entry, name="audit-entry"),
    path("audit/export/", audit.export, name="audit-export"),
    path("workers/", workers.page, name="workers"),
    path("workers/act/<slug:action>/", act.act_on_fleet, name="fleet-act"),
    path("dead/", dead.page, name="dead"),
    path("dead/data/", dead.everywhere, name="dead-data"),
    path("operations/", operations.page, name="operations"),
    path("operations/data/", operations.listed, name="operations-data"),
    path("operations/<uuid:ident>/", operations.one, name="operation"),
    path("operations/<uuid:ident>/data/", operations.data, name="operation-data"),
    path("operations/<uuid:ident>/report/", operations.report_file, name="operation-report"),
    path("operations/<uuid:ident>/act/<slug:action>/", operations.act, name="operation-act"),
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
    path("texts.js", JavaScriptCatalog.as_view(packages=["console"]), name="texts"),
    path("language/setlang/", set_language, name="set_language"),
]

# Three namespaces, for names that collide with nobody's: console, console_admin, console-api.
urlpatterns = [
    path("", include((page_urls, "console"))),
    path("admin/", site.urls),
    path("api/v1/", api_urls),
]
