"""Recorded messages may be held."""

from django.db import migrations, models

STATES = [
    *("delayed", "ready", "retrying", "held", "in_flight", "dead", "done", "cancelled", "dropped", "expired"),
    *("outdated", "unknown"),
]


class Migration(migrations.Migration):
    dependencies = [("console", "0020_recurring_options")]

    operations = [
        migrations.AlterField(
            "messagerecord",
            "state",
            models.CharField(choices=[(state, state.replace("_", " ").title()) for state in STATES], max_length=10),
        ),
    ]
