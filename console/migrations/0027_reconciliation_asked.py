"""What is particular to a restore: a dry run, another namespace, a moment."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0026_order_stuck_and_tenants"),
    ]

    operations = [
        migrations.AddField(
            model_name="reconciliation",
            name="asked",
            field=models.JSONField(default=dict, help_text="Of a restore: dry_run, into, at_ms."),
        ),
    ]
