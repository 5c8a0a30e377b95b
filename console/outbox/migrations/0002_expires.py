from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rmq_outbox", "0001_initial")]

    operations = [
        migrations.AddField(
            "outboxmessage", "expires_ms", models.BigIntegerField(null=True, verbose_name="expires after")
        ),
    ]
