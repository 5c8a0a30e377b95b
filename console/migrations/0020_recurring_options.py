"""Recurring messages may expire, and be accepted once."""

from django.db import migrations, models

HELP = "Of each message; empty: as its topic says."


class Migration(migrations.Migration):
    dependencies = [("console", "0019_record_outdated")]

    operations = [
        migrations.AddField(
            "recurringmessage",
            "expires_ms",
            models.BigIntegerField(blank=True, help_text=HELP, null=True, verbose_name="expires after (ms)"),
        ),
        migrations.AddField(
            "recurringmessage",
            "unique_for_ms",
            models.BigIntegerField(blank=True, help_text=HELP, null=True, verbose_name="once within (ms)"),
        ),
    ]
