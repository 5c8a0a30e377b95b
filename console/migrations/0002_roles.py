"""Make the roles of `console.access` as Django groups."""

from django.apps import apps as installed
from django.db import migrations

# Written out: a migration must keep meaning what it meant when it was made.
LADDER = ["view_live", "read_payload", "operate", "edit_topics", "administer"]
ROLES = {"Viewer": 1, "Payload reader": 2, "Operator": 3, "Editor": 4, "Admin": 5}
ADMIN_MODELS = {
    ("auth", "user"): ("add", "change", "delete", "view"),
    ("auth", "group"): ("add", "change", "delete", "view"),
    ("console", "auditentry"): ("view",),
}


def make_roles(apps, schema_editor):
    groups = apps.get_model("auth", "Group").objects
    # A project that has the console as an app keeps its own groups and users to itself.
    alone = installed.is_installed("console.config")
    for name, height in ROLES.items():
        group, _made = groups.get_or_create(name=name if alone else f"RMQ {name}")
        permissions = [
            _permission(apps, "console", "consolepermission", code, f"Can {code.replace('_', ' ')}")
            for code in LADDER[:height]
        ]
        if name == "Admin":
            permissions += [
                _permission(apps, app, model, f"{verb}_{model}", f"Can {verb} {_spoken(model)}")
                for (app, model), verbs in ADMIN_MODELS.items()
                for verb in verbs
                if alone or app == "console"
            ]
        group.permissions.add(*permissions)


def _spoken(model):
    return "audit entry" if model == "auditentry" else model


def _permission(apps, app, model, codename, name):
    """Permissions are made after all migrations ran; make ours now, Django keeps what it finds."""
    content_type, _made = apps.get_model("contenttypes", "ContentType").objects.get_or_create(
        app_label=app, model=model
    )
    permission, _made = apps.get_model("auth", "Permission").objects.get_or_create(
        content_type=content_type, codename=codename, defaults={"name": name}
    )
    return permission


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(make_roles, migrations.RunPython.noop)]
