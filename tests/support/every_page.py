"""Run inside an installation, by `manage.py shell`: prints every page that its URL configuration names, as JSON.

A row is made of everything that has a page of its own. Names lead to addresses; the routes of the API are not pages.
"""

import json
import uuid
from datetime import timedelta

from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.urls import get_resolver, reverse
from django.utils import timezone

from console.models import (
    AlertReceiver,
    AlertRule,
    ApiToken,
    AuditEntry,
    MessageRecord,
    Operation,
    PipelineSchedule,
    Reconciliation,
    RecurringMessage,
    Screen,
    TopicRevision,
)
from console.outbox.models import OutboxMessage
from console.usecases import tokens
from console.usecases.screens import digest_of

token = ApiToken(name="walk", role="Viewer", topics="*", expires_at=timezone.now() + timedelta(hours=1))
tokens.give_secret(token)
token.save()
revision, _ = TopicRevision.objects.get_or_create(topic="orders", version=99, stored_ms=1)
entry = AuditEntry.objects.create(username="admin", action="pause")
recurring = RecurringMessage.objects.create(
    name="n", topic="orders", content="x", when="in_ms", value=0, every_ms=60_000
)
screen = Screen.objects.create(
    name="wall", panels="figures", digest=digest_of("a-secret"), link_until=timezone.now() + timedelta(hours=1)
)
operation = Operation.objects.create(action="cancel", topic="orders", state="done")
run = Reconciliation.objects.create(state="done")
record = MessageRecord.objects.create(
    key=uuid.uuid4(), topic="orders", slot=0, ident=b"walk", state="done", first_ms=1, updated_ms=1
)
outbox_row = OutboxMessage.objects.create(
    topic="orders", kind="delayed", value=0, content=b"x", lane=1, written_ms=1, state="sent", at_ms=1
)
keys = {
    "operation": operation.pk,
    "run": run.pk,
    "auth_user": User.objects.get(username="admin").pk,
    "auth_group": Group.objects.first().pk,
    "console_auditentry": entry.pk,
    "console_apitoken": token.pk,
    "console_topicrevision": revision.pk,
    "console_recurringmessage": recurring.pk,
    "screen": "wall",
    "screen-by-link": "a-secret",
    "console_screen": screen.pk,
    "console_alertrule": AlertRule.objects.create(name="n", problem="dead").pk,
    "console_alertreceiver": AlertReceiver.objects.create(name="n", address="https://localhost/").pk,
    "console_topicdefinition": "orders",
    "console_routedefinition": "orders",
    "console_pipelineschedule": PipelineSchedule.objects.create(kind="archive", every_ms=3_600_000, enabled=False).pk,
    "console_operation": operation.pk,
    "console_reconciliation": run.pk,
    "console_messagerecord": record.pk,
    "rmq_outbox_outboxmessage": outbox_row.pk,
    "view_on_site": entry.pk,
}
given = {"topic": "orders", "app_label": "console", "content_type_id": ContentType.objects.get_for_model(AuditEntry).pk}


def walk(patterns, space="", names=frozenset()):
    for each in patterns:
        pattern = each.pattern
        here = names | {*getattr(pattern, "converters", ())} | {*pattern.regex.groupindex}
        if not hasattr(each, "url_patterns"):
            if each.name:
                yield space + each.name, here
        elif each.namespace != "console-api":
            yield from walk(each.url_patterns, f"{space}{each.namespace}:" if each.namespace else space, here)


pages = {}
for name, names in walk(get_resolver().url_patterns):
    short = name.rpartition(":")[2]
    key = next((key for row, key in keys.items() if short == row or short.startswith(row + "_")), None)
    for tab in ("messages", "dead", "slots", "definition") if "tab" in names else ("",):
        values = {**given, "tab": tab}
        pages[f"{name} {tab}".strip()] = reverse(name, kwargs={each: values.get(each, key) for each in names})
print(json.dumps(pages))
