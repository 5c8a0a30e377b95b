"""What the provider says of somebody, as Django knows people: name, groups."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import Group

from console.sso.options import Sso

log = logging.getLogger("console.sso")

Claims = Mapping[str, Any]


def merged(data: Mapping[str, Any]) -> dict[str, Any]:
    """Of both sources: some providers tell groups only in the token, others only when asked for the person."""
    return {**(data.get("id_token") or {}), **(data.get("userinfo") or {})}


def groups_of(claims: Claims, sso: Sso) -> dict[str, Group]:
    """The groups of Django that somebody is to be in by their claims, by name."""
    value = _inside(claims, sso.groups_claim)
    told = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    wanted = {sso.roles[each] for each in told if isinstance(each, str) and each in sso.roles}
    wanted |= {sso.default_role} if sso.default_role else set()
    found = {group.name: group for group in Group.objects.filter(name__in=wanted)}
    for name in sorted(wanted - found.keys()):
        log.error("single sign-on gives the role %r, and there is no such group", name)
    return found


def give_groups(user: Any, claims: Claims, sso: Sso) -> bool:
    """Put somebody into those groups, and out of others that are given by claims; the rest stays as it is. Whether
    there is one at least."""
    wanted = groups_of(claims, sso)
    managed = [*sso.roles.values(), sso.default_role]
    has = {group.name: group for group in user.groups.filter(name__in=managed)}
    user.groups.remove(*(group for name, group in has.items() if name not in wanted))
    user.groups.add(*(group for name, group in wanted.items() if name not in has))
    return bool(wanted)


def _inside(claims: Claims, path: str) -> Any:
    """`realm_access.roles` names what is inside; a claim whose own name has dots (an address) comes first."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
