from django.apps.registry import Apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def give_to_accounts(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Until now they were of whoever had that name."""
    people, named = apps.get_model(settings.AUTH_USER_MODEL), get_user_model().USERNAME_FIELD
    for schedule in apps.get_model("console", "PipelineSchedule").objects.all():
        schedule.user = people.objects.filter(**{named: schedule.username}).first()
        schedule.save(update_fields=["user"])


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0035_receivers_changed"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="pipelineschedule",
            name="user",
            field=models.ForeignKey(
                null=True,
                on_delete=models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunPython(give_to_accounts, migrations.RunPython.noop),
    ]
