"""Erasing somebody's messages is a job of the pipeline."""

from django.db import migrations, models

import console.models.fields

KINDS = [("reconcile", "reconciliation"), ("archive", "archive"), ("restore", "restore"), ("erase", "erasure")]


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0027_reconciliation_asked"),
    ]

    operations = [
        migrations.AlterField(
            model_name="pipelineschedule",
            name="kind",
            field=models.CharField(max_length=10, choices=KINDS),
        ),
        migrations.AlterField(
            model_name="reconciliation",
            name="kind",
            field=models.CharField(max_length=10, choices=KINDS, default="reconcile"),
        ),
        migrations.AlterField(
            model_name="reconciliation",
            name="asked",
            field=console.models.fields.JSONField(
                default=dict, help_text="Of a restore: dry_run, into, at_ms; of an erasure: dry_run, ids, slot_bases."
            ),
        ),
    ]
