"""The table of the outbox."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

STATES = [("waiting", "waiting"), ("sent", "sent"), ("parked", "parked"), ("discarded", "discarded")]


def make_room(apps: Any, schema_editor: Any) -> None:
    """Every row is changed twice: in its own page, where there is room; what is dead goes before it is a heap."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            "ALTER TABLE rmq_outbox_message SET"
            " (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05)"
        )


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="OutboxMessage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("topic", models.CharField(max_length=100, verbose_name="topic")),
                ("kind", models.CharField(max_length=20, verbose_name="kind")),
                ("value", models.BigIntegerField(verbose_name="priority, window, time or delay")),
                ("content", models.BinaryField(verbose_name="content")),
                ("key", models.BinaryField(null=True, verbose_name="key")),
                ("slot_basis", models.BinaryField(null=True, verbose_name="slot basis")),
                ("headers", models.TextField(blank=True, verbose_name="headers")),
                ("version", models.BigIntegerField(db_default=0, default=0, verbose_name="version")),
                ("lane", models.BigIntegerField(verbose_name="lane")),
                ("written_ms", models.BigIntegerField(verbose_name="written")),
                (
                    "state",
                    models.CharField(
                        choices=STATES, db_default="waiting", default="waiting", max_length=10, verbose_name="state"
                    ),
                ),
                ("at_ms", models.BigIntegerField(db_default=0, default=0, verbose_name="not before, or ended")),
                (
                    "lease",
                    models.CharField(blank=True, db_default="", default="", max_length=32, verbose_name="lease"),
                ),
                ("leased_until_ms", models.BigIntegerField(db_default=0, default=0, verbose_name="leased until")),
                ("tries", models.PositiveIntegerField(db_default=0, default=0, verbose_name="failed tries")),
                (
                    "error",
                    models.CharField(blank=True, db_default="", default="", max_length=500, verbose_name="last error"),
                ),
            ],
            options={
                "verbose_name": "message of the outbox",
                "verbose_name_plural": "messages of the outbox",
                "db_table": "rmq_outbox_message",
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["state", "at_ms", "id"], name="rmq_outbox_at"),
                    models.Index(fields=["state", "lane", "id"], name="rmq_outbox_lane"),
                ],
            },
        ),
        migrations.RunPython(make_room, migrations.RunPython.noop, elidable=False),
    ]
