from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rmq_outbox", "0002_expires")]

    operations = [
        migrations.AddField(
            "outboxmessage", "unique_for_ms", models.BigIntegerField(null=True, verbose_name="once within")
        ),
    ]
