"""Whose a message is: what its sender says, or what its topic reads out of a header or the key; and what they cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rmq_core.errors import InvalidMessage, InvalidTopic
from rmq_core.model.text import unencodable, worded

TENANT_MAX = 64
"""Bytes of UTF-8; what is longer in a header or a key is cut there."""
FROM_MAX = 100
WEIGHT_MAX = 100
WEIGHTS_MOST = 100
WEIGHTS_TEXT_MAX = 4_000
FROM_RULE = "'header:<name>', 'key:<separator>', or '' where messages say it themselves"


def check_tenant(tenant: object) -> None:
    """Raises `InvalidMessage` for what is no name of a tenant."""
    if not isinstance(tenant, str):
        raise InvalidMessage(f"tenant must be text, not {worded(tenant)}")
    try:
        size = len(tenant.encode())
    except UnicodeEncodeError as error:
        raise InvalidMessage(f"tenant {unencodable(error)}") from None
    if size > TENANT_MAX:
        raise InvalidMessage(f"tenant must be at most {TENANT_MAX} bytes, not {size}")


def check_tenant_from(rule: object) -> None:
    """Raises `InvalidTopic` for what no topic can read a tenant by."""
    if not isinstance(rule, str) or len(rule) > FROM_MAX or not rule.isprintable():
        raise InvalidTopic(f"tenant_from={rule!r} must be {FROM_RULE}, of at most {FROM_MAX} characters")
    how, colon, what = rule.partition(":")
    if rule and not (how in {"header", "key"} and colon and what):
        raise InvalidTopic(f"tenant_from={rule!r} must be {FROM_RULE}")


def weights_of(text: str) -> dict[str, int]:
    """``acme=3, globex=10`` as a mapping. Raises `InvalidTopic`."""
    weights: dict[str, int] = {}
    for each in filter(None, (part.strip() for part in text.replace("\n", ",").split(","))):
        tenant, _, weight = (part.strip() for part in each.rpartition("="))
        if not tenant or not (weight.isascii() and weight.isdigit() and 1 <= int(weight[:4]) <= WEIGHT_MAX):
            raise InvalidTopic(
                f"tenant_weights says {each!r:.100}, which must be <tenant>=<weight>, a whole number from 1 to"
                f" {WEIGHT_MAX}"
            )
        try:
            check_tenant(tenant)
        except InvalidMessage as error:
            raise InvalidTopic(f"tenant_weights: {error}") from None
        weights[tenant] = int(weight)
    if len(weights) > WEIGHTS_MOST:
        raise InvalidTopic(f"tenant_weights names {len(weights)} tenants; it may name {WEIGHTS_MOST} at most")
    return weights


def check_weights(weights: object) -> None:
    """Raises `InvalidTopic` for what is no list of weights."""
    if not isinstance(weights, str) or len(weights) > WEIGHTS_TEXT_MAX:
        raise InvalidTopic(
            f"tenant_weights must be text like 'acme=3, globex=10', of at most {WEIGHTS_TEXT_MAX} characters"
        )
    weights_of(weights)


def tenant_of(rule: str, headers: Mapping[str, str] | None, key: bytes | None) -> str:
    """By a topic's rule: the value of a header, or the key up to the separator; "" where there is none."""
    how, _, what = rule.partition(":")
    if how == "header":
        raw = (headers or {}).get(what, "").encode(errors="replace")
    else:
        before, separator, _ = (key or b"").partition(what.encode())
        raw = before if separator else b""
    return raw[:TENANT_MAX].decode(errors="ignore")


@dataclass(frozen=True, slots=True)
class TenantLoad:
    """What one tenant does to a topic, a second, lately; the shares are of all that name a tenant (0 to 1)."""

    tenant: str
    sent_s: float
    taken_s: float
    sent_share: float
    taken_share: float


@dataclass(frozen=True, slots=True)
class TenantTurn:
    """One tenant of a fair topic of which something waits. ``share``: of the turns (0 to 1), while those who wait now
    do; it is what its ``weight`` gives it among them. "": messages that name no tenant, which take turns as one.
    """

    tenant: str
    weight: int
    waiting: int
    share: float


@dataclass(frozen=True, slots=True)
class TenantLoads:
    """Who causes a topic's load, the most first: what was sent and taken of messages that name a tenant, a second.

    Older load counts half for every ``half_life_ms``. ``over_s``: so much the figures of one tenant may be too high,
    because more tenants came than are counted one by one; 0: they are exact.

    ``fair``: whether tenants take turns; then ``turns`` are those of whom most waits, whoever is next first, and
    ``without_turn`` so many messages as are still to be given one (they were there before).
    """

    at_ms: int
    half_life_ms: int
    sent_s: float
    taken_s: float
    over_s: float
    tenants: tuple[TenantLoad, ...]
    fair: bool = False
    turns: tuple[TenantTurn, ...] = ()
    without_turn: int = 0
