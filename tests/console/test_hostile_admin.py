"""Whatever an address or a form of the admin is made to say: no list tells what is not shown in it, and nothing fails.

Also on PostgreSQL, which refuses what SQLite takes: tests/console/test_postgres.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from console.admin.guarded import GuardedAdmin, NarrowList
from console.models import TopicRevision
from console.outbox.models import OutboxMessage
from console.site import site
from tests.console.conftest import Queue
from tests.console.test_admin_lists import OUTBOX, RECORD, an_operation, recorded
from tests.console.test_walk_admin import MODELS, rows

pytestmark = pytest.mark.django_db
__all__ = ["rows"]  # a fixture
FROM_REDIS = {"console_topicdefinition", "console_routedefinition"}
LISTS = sorted(set(MODELS) - FROM_REDIS)
LOOKUPS = ("", "__startswith", "__contains", "__isnull", "__text__startswith")
EVERY_LIST = {"q", "p", "o", "all", "e", "_facets", "_popup", "_to_field", "_changelist_filters"}
GROUP_OF_A_SCOPE = {"app_label": "console", "model_name": "topicscope", "field_name": "group"}
ODD = ("a\0b", "", str(10**30), "9999-12-31", "'<é")


@pytest.fixture
def admin(queue: Queue, rows: dict[str, int | str]) -> Client:
    """Who may do everything, with a row of each table."""
    browser = Client()
    browser.force_login(User.objects.create_superuser("root"))
    return browser


def list_of(model: str) -> str:
    return reverse(f"console_admin:{model}_changelist")


def admin_of(model: str) -> Any:
    return next(each for each in site._registry.values() if each.opts.label_lower.replace(".", "_") == model)


def own(browser: Client, model: str) -> set[str]:
    """What the filters of a list send, and links to it."""
    shown: Any = browser.get(list_of(model), {"topic": "orders"} if model == RECORD else {})
    filters = shown.context["cl"].filter_specs
    return {name for each in filters for name in each.expected_parameters()} | admin_of(model).linked_by


def lookups(model: str) -> Iterator[str]:
    """On its fields, and on those of what it is related to."""
    for field in admin_of(model).model._meta.get_fields():
        yield from (f"{field.name}{lookup}" for lookup in LOOKUPS)
        if field.is_relation and field.related_model:
            yield from (f"{field.name}__{each.name}__startswith" for each in field.related_model._meta.get_fields())


def test_all_lists_are_guarded() -> None:
    list_of("auth_user")  # with the addresses come the admins
    assert {each.opts.label_lower.replace(".", "_") for each in site._registry.values()} == set(MODELS)
    for each in site._registry.values():
        assert isinstance(each, GuardedAdmin) and issubclass(each.get_changelist(None), NarrowList), each


@pytest.mark.parametrize("model", LISTS)
def test_no_list_is_narrowed_by_what_it_does_not_offer(admin: Client, model: str) -> None:
    at, known = list_of(model), own(admin, model)
    asked = [name for name in lookups(model) if name not in known]
    assert len(asked) > 10
    for name in asked:
        answer = admin.get(at, {name: "s"})
        # Django itself refuses what goes through a relation, and passwords.
        assert answer.status_code == 400 or answer.get("Location") == f"{at}?e=1", (name, answer.status_code)
    assert admin.get(at, {"e": "1", asked[0]: "s"}).status_code == 200


@pytest.mark.parametrize(("model", "name", "value"), [
    ("console_operation", "filter__text__startswith", "sec"), (RECORD, "error__startswith", "KeyError: s"),
    (RECORD, "body__contains", "s"), ("console_reconciliation", "asked__icontains", "secret"),
    (OUTBOX, "error__contains", "secret"), (OUTBOX, "content__contains", "secret"),
])  # fmt: skip
def test_a_viewer_reads_no_content_letter_by_letter(
    queue: Queue, as_role: Callable[..., Client], model: str, name: str, value: str
) -> None:
    an_operation()
    recorded()
    answer = as_role("Viewer").get(list_of(model), {name: value})
    assert (answer.status_code, answer["Location"]) == (302, f"{list_of(model)}?e=1")


@pytest.mark.parametrize("model", LISTS)
def test_nothing_that_a_list_is_asked_makes_it_fail(admin: Client, model: str) -> None:
    at = list_of(model)
    for name in sorted({*own(admin, model), *EVERY_LIST}):
        for value in ODD:
            answer = admin.get(at, {name: value})
            assert answer.status_code in (200, 302, 400), (name, value)
    assert admin.get(at, {"\0": "a"}).status_code == 302
    assert admin.get(at, {"q": "a " * 2_000}).status_code == 200
    for field in admin_of(model).model._meta.get_fields():
        answer = admin.get(at, {"_to_field": field.name})
        assert answer.status_code in (200, 400), field.name
        assert answer.status_code == 400 or field.name == admin_of(model).opts.pk.name, field.name


@pytest.mark.parametrize("model", sorted(MODELS))
def test_odd_keys_and_odd_starts_of_forms(admin: Client, model: str) -> None:
    of = admin_of(model)
    for value in ODD:
        for form in ("change", "delete", "history"):
            if value:
                answer = admin.get(
                    reverse(f"console_admin:{model}_{form}", args=["KEY"]).replace("KEY", quote(value, safe=""))
                )
                assert answer.status_code in (302, 403, 404), (form, value)
        start = {field.name: value for field in of.model._meta.get_fields()}
        assert admin.get(reverse(f"console_admin:{model}_add"), start).status_code in (200, 403), value


def test_what_the_frame_is_asked(admin: Client) -> None:
    for value in (*ODD, "a\0" * 300):
        choosing = {"term": value, **GROUP_OF_A_SCOPE}
        for name, asked in (("search", {"s": value}), ("autocomplete", choosing), ("records", {"q": value})):
            answer = admin.get(reverse(f"console_admin:{name}"), asked)
            assert answer.status_code in (200, 302, 403, 404), (name, value)


@pytest.mark.parametrize("model", sorted(MODELS))
def test_forged_selections(admin: Client, model: str) -> None:
    names = list(admin_of(model).actions or ()) or ["delete_selected"]
    for name in names:
        for value in (*ODD, "x", str(2**31), "6f1d7d3e-0000-4000-8000-000000000001"):
            answer = admin.post(list_of(model), {"action": name, "reason": "r", "_selected_action": [value, value]})
            assert answer.status_code in (200, 302, 403), (name, value)
        for odd in ({"action": "x\0"}, {"index": "x"}, {"select_across": "1"}):
            answer = admin.post(list_of(model), {"action": name, "_selected_action": ["x"], **odd})
            assert answer.status_code in (200, 302, 403), (name, odd)
    assert User.objects.filter(username="root").exists() and Group.objects.exists()
    assert OutboxMessage.objects.filter(state="waiting").exists() and TopicRevision.objects.exists()
