"""What earlier releases stored in the database is converted, or read as it is."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from console.models import MessageRecord, MessageTransition, PipelineSchedule
from console.record.intake import Batch, Place, write
from console.record.life import key_of
from console.serializers.records import steps_json
from tests.console.record.steps import life

pytestmark = pytest.mark.django_db


def test_records_are_converted_and_steps_are_read() -> None:
    steps = life("a")[:3]  # sent, taken, retried
    write(Batch("orders", {}, {0: Place(steps[-1].entry_id)}, steps))
    key = key_of("orders", 0, b"a")
    # As the release before has written it.
    MessageRecord.objects.filter(pk=key).update(state="waiting", queued="waiting")
    MessageTransition.objects.filter(message=key, to_state="retrying").update(to_state="waiting")

    migration = import_module("console.migrations.0010_record_retrying")
    migration.rename("waiting", "retrying")(apps, SimpleNamespace(connection=connection))
    record = MessageRecord.objects.get(pk=key)
    assert (record.state, record.queued) == ("retrying", "retrying")
    told = steps_json(MessageTransition.objects.filter(message=key).order_by("at_ms", "entry", "seq"), 0, True)
    assert [(step["from"], step["to"]) for step in told][-1] == ("in_flight", "retrying")


def test_seconds_become_milliseconds_and_back() -> None:
    schedule = PipelineSchedule.objects.create(
        kind="archive", every_ms=366 * 86_400, username="a"
    )  # in seconds, as it was
    migration = import_module("console.migrations.0011_milliseconds")
    for change, expected in ((migration.to_milliseconds, 366 * 86_400_000), (migration.to_seconds, 366 * 86_400)):
        change(apps, SimpleNamespace(connection=connection))
        schedule.refresh_from_db()
        assert schedule.every_ms == expected
