"""Run inside an installation, by `manage.py shell`: prints every page that its URL configuration names, as JSON.

A row is made of everything that has a page of its own. Names lead to addresses; the routes of the API are not pages.
"""

import json
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
    Operation,
    Reconciliation,
    RecurringMessage,
    Screen,
    TopicRevision,
)
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
keys = {
    "operation": Operation.objects.create(action="cancel", topic="orders", state="done").pk,
    "run": Reconciliation.objects.create(state="done").pk,
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
