from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    operations = [
        migrations.CreateModel(
            name="Booking",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("passenger", models.CharField(max_length=100)),
                ("flight", models.CharField(max_length=20)),
                ("seat", models.CharField(blank=True, max_length=4)),
                ("booked_at", models.DateTimeField(auto_now_add=True)),
                ("confirmed_at", models.DateTimeField(null=True)),
            ],
            options={"ordering": ["-pk"], "default_permissions": ()},
        ),
    ]
