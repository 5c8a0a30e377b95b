"""The state `waiting` of recorded messages is `retrying`. Steps keep what they say: `console.serializers.records`."""

from typing import Any

from django.db import migrations, models

STATES = ["delayed", "ready", "retrying", "in_flight", "dead", "done", "cancelled", "dropped", "unknown"]


def rename(old: str, new: str) -> Any:
    def run(apps: Any, schema_editor: Any) -> None:
        records = apps.get_model("console", "MessageRecord").objects.using(schema_editor.connection.alias)
        for name in ("state", "queued"):
            records.filter(**{name: old}).update(**{name: new})

    return run


class Migration(migrations.Migration):
    dependencies = [("console", "0009_audit_nothing_done")]

    operations = [
        migrations.AlterField(
            "messagerecord",
            "state",
            models.CharField(choices=[(state, state.replace("_", " ").title()) for state in STATES], max_length=10),
        ),
        migrations.RunPython(rename("waiting", "retrying"), rename("retrying", "waiting")),
    ]
