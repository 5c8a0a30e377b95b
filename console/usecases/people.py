"""What becomes of people and roles, in the audit: who may what since when, and by whom. Never a password, or a hash."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from django.contrib.auth.models import Group
from django.contrib.auth.models import Permission as DjangoPermission
from django.db.models import QuerySet

from console.access import User, account_of
from console.usecases.audit import note

FLAGS = ("is_active", "is_staff", "is_superuser")
NOT_KEPT = ("password", "last_login", "date_joined")
NAMED_MOST = 100


@dataclass(frozen=True)
class By:
    """Who does it: somebody with an account, or what is known otherwise."""

    username: str
    user: Any = None
    address: str | None = None
    via: str = "admin"

    @classmethod
    def person(cls, user: User, address: str | None) -> By:
        return cls(user.get_username(), account_of(user), address)


@dataclass(frozen=True)
class Standing:
    """What somebody, or a role, is and may. Of `others` it is only told that they changed: an address, a name."""

    name: str
    flags: Mapping[str, bool] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)
    sets: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def since(self, before: Standing) -> dict[str, Any]:
        """What has changed, for the audit; empty where nothing has."""
        found: dict[str, Any] = {"former_name": before.name} if before.name != self.name else {}
        found |= {name: value for name, value in self.flags.items() if before.flags.get(name) != value}
        if changed := sorted(name for name, value in self.others.items() if before.others.get(name) != value):
            found["changed"] = changed
        for name, has in self.sets.items():
            had = before.sets.get(name, frozenset())
            if has != had:
                found[name] = {"given": sorted(has - had), "taken": sorted(had - has)}
        return found

    def all(self) -> dict[str, Any]:
        """The same where there was nothing before, or is nothing any more."""
        return {**self.flags, **{name: sorted(has) for name, has in self.sets.items()}}


def standing_of(user: Any) -> Standing:
    """As it is stored now, whatever a form has made of `user`. Projects have people of other kinds."""
    stored = type(user)._base_manager.get(pk=user.pk)
    fields = {each.attname for each in stored._meta.concrete_fields}
    others = fields - {*FLAGS, *NOT_KEPT, stored.USERNAME_FIELD}
    return Standing(
        stored.get_username(),
        {name: getattr(stored, name) for name in FLAGS if name in fields},
        {name: getattr(stored, name) for name in others},
        {
            "roles": frozenset(stored.groups.values_list("name", flat=True)),
            "permissions": _named(stored.user_permissions.all()),
        },
    )


def standing_of_role(role: Group) -> Standing:
    stored = Group.objects.get(pk=role.pk)
    return Standing(stored.name, sets={"permissions": _named(stored.permissions.all())})


def mark_of(row: Any) -> str:
    """Tells what somebody, or a role, is and may from what they were and might."""
    found = standing_of_role(row) if isinstance(row, Group) else standing_of(row)
    said = json.dumps([found.name, found.others, found.all()], default=str, sort_keys=True)
    return blake2b(said.encode()).hexdigest()


def note_created(by: By, user: Any) -> None:
    now = standing_of(user)
    note("create_user", query={"user": now.name, **now.all()}, done=1, **vars(by))


def note_edited(by: By, before: Standing, user: Any) -> None:
    """Nothing where nothing has changed."""
    now = standing_of(user)
    if found := now.since(before):
        note("edit_user", query={"user": now.name, **found}, done=1, **vars(by))


@contextmanager
def edits(by: By, user: Any) -> Iterator[None]:
    """Notes what the block changes."""
    before = standing_of(user)
    yield
    note_edited(by, before, user)


def note_password(by: By, user: Any) -> None:
    query = {"user": user.get_username(), "usable": user.has_usable_password()}
    note("set_password", query=query, done=1, **vars(by))


def note_deleted(by: By, user: Any) -> None:
    """While there still is one."""
    was = standing_of(user)
    note("delete_user", query={"user": was.name, **was.all()}, done=1, **vars(by))


def note_role_created(by: By, role: Group) -> None:
    now = standing_of_role(role)
    note("create_role", query={"role": now.name, **now.all()}, done=1, **vars(by))


def note_role_edited(by: By, before: Standing, role: Group) -> None:
    """Nothing where nothing has changed."""
    now = standing_of_role(role)
    if found := now.since(before):
        note("edit_role", query={"role": now.name, **found}, done=1, **vars(by))


def note_role_deleted(by: By, role: Group) -> None:
    """While there still is one: who had it, and for which topics it was."""
    was, people = standing_of_role(role), role.user_set.all()
    names = sorted(each.get_username() for each in people[:NAMED_MOST])
    query = {"role": was.name, **was.all(), "people": names, "people_count": people.count()}
    if scope := getattr(role, "rmq_topics", None):
        query["topics"] = scope.patterns
    note("delete_role", query=query, done=1, **vars(by))


def _named(permissions: QuerySet[DjangoPermission]) -> frozenset[str]:
    rows = permissions.order_by().values_list("content_type__app_label", "codename")
    return frozenset(".".join(row) for row in rows)
