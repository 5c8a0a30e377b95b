"""A program for `bench_outbox`: fills the outbox of a database, relays all of it, and prints what that took."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time

import dj_database_url
import django
from django.conf import settings

if importlib.util.find_spec("pymysql"):
    importlib.import_module("pymysql").install_as_MySQLdb()

FILL = 5_000


def main() -> None:
    rows, redis_url, database = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    settings.configure(
        INSTALLED_APPS=["console.outbox"],
        DATABASES={"default": dj_database_url.parse(database)},
        RMQ_OUTBOX={"REDIS_URL": redis_url},
        USE_TZ=True,
    )
    django.setup()

    from django.core.management import call_command
    from django.db import connection, transaction

    from console.outbox import clients
    from console.outbox.models import OutboxMessage
    from console.outbox.relay import Relay
    from console.outbox.rows import row_of

    call_command("migrate", verbosity=0)
    for start in range(0, rows, FILL):
        with transaction.atomic():
            OutboxMessage.objects.bulk_create(
                OutboxMessage(**row_of("work", {"order": number, "to": "somebody@example.com"}, {"priority": 900}))
                for number in range(start, start + FILL)
            )
    if connection.vendor != "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {'TABLE ' if connection.vendor == 'mysql' else ''}rmq_outbox_message")
    relay = Relay("default", clients.patient())
    begun, cpu = time.monotonic(), time.process_time()
    sent = 0
    while taken := relay.step().sent:
        sent += taken
    seconds, spent = time.monotonic() - begun, time.process_time() - cpu
    left = OutboxMessage.objects.exclude(state="sent").count()
    sys.stdout.write(json.dumps({"sent": sent, "left": left, "seconds": seconds, "cpu_s": spent}) + "\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
