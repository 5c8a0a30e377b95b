import json

from django.db import migrations, models
from django.db.models import Count
from django.db.models.functions import Cast

AT_ONCE = 500


def look_back(apps, schema_editor):
    """What the runs that are kept say of their topics, oldest first. As `usecases.runs.clean` does it run by run."""
    runs = apps.get_model("console", "Reconciliation").objects.using(schema_editor.connection.alias)
    found = apps.get_model("console", "Finding").objects.using(schema_editor.connection.alias)
    verdict = apps.get_model("console", "TopicVerdict")
    texts = {name: Cast(name, models.TextField()) for name in ("summary", "topics")}  # one may be damaged
    done = runs.filter(kind="reconcile", state="done", finished__isnull=False).order_by("finished")
    rows = done.annotate(**{f"{name}_text": text for name, text in texts.items()}).values_list(
        "pk", "finished", "findings", "listed", "summary_text", "topics_text"
    )
    keys, verdicts = list(done.values_list("pk", flat=True)), {}
    for at in range(0, len(keys), AT_ONCE):
        some = keys[at : at + AT_ONCE]
        counted = found.filter(run__in=some).order_by().values_list("run", "topic").annotate(n=Count("pk"))
        counts = {(run, topic): n for run, topic, n in counted}
        for pk, finished, findings, listed, summary, topics in rows.filter(pk__in=some):
            for topic, gap in _topics(_read(summary, dict), _read(topics, list)):
                n = counts.get((pk, topic), 0)
                clean = not n and not gap and findings <= listed
                row = verdicts.setdefault(topic, verdict(topic=topic))
                row.clean_since = (row.clean_since or finished) if clean else None
                row.at, row.run, row.findings, row.complete = finished, pk, n, not gap
    verdict.objects.using(schema_editor.connection.alias).bulk_create(verdicts.values(), batch_size=100)


def _topics(summary, asked):
    """The topics that a run said something of, and whether their journal had gaps."""
    inputs, gaps, silent = (summary.get(name) for name in ("inputs", "gaps", "without_journal"))
    names = inputs.get("topics") if isinstance(inputs, dict) else None
    unsaid = silent if isinstance(silent, list) else []
    lacking = [each.get("topic") for each in gaps if isinstance(each, dict)] if isinstance(gaps, list) else []
    for name in names if isinstance(names, list) else asked:
        if isinstance(name, str) and name.isprintable() and len(name) <= 255 and name not in unsaid:
            yield name, name in lacking


def _read(text, kind):
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return kind()
    return found if isinstance(found, kind) else kind()


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0031_admin_words"),
    ]

    operations = [
        migrations.CreateModel(
            name="TopicVerdict",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("topic", models.CharField(max_length=255, unique=True)),
                ("clean_since", models.DateTimeField(null=True)),
                ("at", models.DateTimeField(db_index=True, help_text="When that reconciliation ended.")),
                ("run", models.UUIDField()),
                ("findings", models.PositiveIntegerField(default=0)),
                ("complete", models.BooleanField(default=True)),
            ],
            options={
                "ordering": ["topic"],
                "default_permissions": (),
            },
        ),
        migrations.AlterField(
            model_name="reconciliation",
            name="asked",
            field=models.JSONField(
                default=dict,
                help_text="Of a restore: dry_run, into, at_ms; of an erasure: dry_run, ids, slot_bases; of a "
                "reconciliation: from_scratch.",
            ),
        ),
        migrations.RunPython(look_back, migrations.RunPython.noop, elidable=True),
    ]
