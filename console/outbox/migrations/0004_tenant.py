from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rmq_outbox", "0003_unique")]

    operations = [migrations.AddField("outboxmessage", "tenant", models.TextField(null=True, verbose_name="tenant"))]
