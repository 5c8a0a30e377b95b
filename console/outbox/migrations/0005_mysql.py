from typing import Any

from django.db import migrations


def text_as_it_is(apps: Any, schema_editor: Any) -> None:
    """MariaDB and MySQL take a table's text from the database's own: often without emoji, and with "Mail" equal to
    "mail"; and its engine, which may be one without transactions."""
    if schema_editor.connection.vendor == "mysql":
        schema_editor.execute(
            "ALTER TABLE rmq_outbox_message ENGINE = InnoDB, CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        )


class Migration(migrations.Migration):
    atomic = False  # what it is for cannot change a table in a transaction
    dependencies = [("rmq_outbox", "0004_tenant")]

    operations = [migrations.RunPython(text_as_it_is, migrations.RunPython.noop, elidable=False)]
