"""A receiver that is deleted while somebody names it. Run on PostgreSQL by `tests/console/test_postgres.py`: SQLite
lets one write at a time, and so has nothing to wait for."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.db.models.sql import DeleteQuery

from console.models import AlertReceiver, AlertRule
from console.usecases import alerts
from console.usecases.actor import Actor
from tests.support.waiting import PATIENCE_S, wait_until


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_whoever_names_it_after_what_goes_with_it_is_gone_is_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    chief = Actor(User.objects.create_superuser("chief"))
    receiver = AlertReceiver.objects.create(name="ops", address="https://x.test/")
    rule = AlertRule.objects.create(name="late", problem="lagging")

    def name() -> None:
        try:
            with suppress(IntegrityError), transaction.atomic():
                rule.receivers.add(receiver)
        finally:
            connection.close()

    naming = threading.Thread(target=name)
    delete = DeleteQuery.delete_batch

    def done_or_waiting() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            return bool(cursor.fetchone()[0]) or not naming.is_alive()

    def delete_later(query: Any, *args: Any) -> Any:
        """What refers to it is gone by now, and it itself is not yet."""
        naming.start()
        wait_until(done_or_waiting, what="it to be named, or that to wait for the deletion")
        return delete(query, *args)

    monkeypatch.setattr(DeleteQuery, "delete_batch", delete_later)
    alerts.remove_receiver(chief, receiver, "left")
    naming.join(PATIENCE_S)
    assert not rule.receivers.exists() and not AlertReceiver.objects.exists()
