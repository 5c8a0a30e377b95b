"""Durations are in milliseconds, like all others: `spread_ms` of an operation, `every_ms` of a schedule."""

from typing import Any

from django.db import migrations, models
from django.db.models import F

FIELDS = (("Operation", "spread_ms"), ("PipelineSchedule", "every_ms"))


def to_milliseconds(apps: Any, schema_editor: Any) -> None:
    for model, name in FIELDS:
        apps.get_model("console", model).objects.using(schema_editor.connection.alias).update(**{name: F(name) * 1000})


def to_seconds(apps: Any, schema_editor: Any) -> None:
    for model, name in FIELDS:
        apps.get_model("console", model).objects.using(schema_editor.connection.alias).update(**{name: F(name) / 1000})


class Migration(migrations.Migration):
    dependencies = [("console", "0010_record_retrying")]

    operations = [
        migrations.RenameField("operation", "spread_s", "spread_ms"),
        migrations.RenameField("pipelineschedule", "every_s", "every_ms"),
        migrations.AlterField(
            "operation", "spread_ms", models.PositiveBigIntegerField(default=0, verbose_name="spread over (ms)")
        ),
        migrations.AlterField("pipelineschedule", "every_ms", models.PositiveBigIntegerField()),
        migrations.RunPython(to_milliseconds, to_seconds),
    ]
