"""Whose a message is: what its sender says, or what its topic reads out of a header or the key; and what they cause."""

from __future__ import annotations

import re
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
LIMIT_MAX = 1_000_000
SPANS = {"s": 1_000, "min": 60_000, "h": 3_600_000}
LIMIT_RULE = "held, <n>/s, <n>/min, <n>/h, '<n> at once', or a rate and '<n> at once'; n from 1 to 1000000"
_LIMIT = re.compile(
    r"(?:(?P<messages>[0-9]{1,7})/(?P<span>s|min|h))?(?:(?:^|(?<=\w) )(?P<at_once>[0-9]{1,7}) at once)?", re.ASCII
)
NUL = "\0"
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
    if NUL in tenant:
        raise InvalidMessage("tenant must not hold U+0000, which no filter and no database can name")


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
        if tenant in weights:
            raise InvalidTopic(f"tenant_weights names the tenant {tenant!r} twice: keep one of them")
        weights[tenant] = int(weight)
    if len(weights) > WEIGHTS_MOST:
        raise InvalidTopic(f"tenant_weights names {len(weights)} tenants; it may name {WEIGHTS_MOST} at most")
    return weights


@dataclass(frozen=True, slots=True)
class TenantLimit:
    """What caps one tenant: ``held``, nothing of its is handed out; ``messages`` in ``span_ms`` at most (0: any);
    ``at_once`` in flight at most (0: any)."""

    held: bool = False
    messages: int = 0
    span_ms: int = 0
    at_once: int = 0

    def __str__(self) -> str:
        if self.held:
            return "held"
        span = {span: name for name, span in SPANS.items()}.get(self.span_ms, "s")
        parts = ([f"{self.messages}/{span}"] if self.messages else []) + (
            [f"{self.at_once} at once"] if self.at_once else []
        )
        return " ".join(parts)

    @property
    def mark(self) -> str:
        """As the mark of a slot says it, see ``lua/shared/tenant_limits.lua``."""
        rate = f",r{self.messages}/{self.span_ms}" if self.messages else ""
        return f"{',h' if self.held else ''}{rate}{f',c{self.at_once}' if self.at_once else ''}"


def limit_of(text: str) -> TenantLimit | None:
    """``held``, ``10/s``, ``3 at once`` or ``10/s 3 at once``; None: it is none of them."""
    if text == "held":
        return TenantLimit(held=True)
    found = _LIMIT.fullmatch(text)
    if found is None or not text:
        return None
    messages, at_once = int(found["messages"] or 0), int(found["at_once"] or 0)
    given = [most for most, raw in ((messages, found["messages"]), (at_once, found["at_once"])) if raw is not None]
    if not all(1 <= most <= LIMIT_MAX for most in given):
        return None
    return TenantLimit(False, messages, SPANS[found["span"]] if messages else 0, at_once)


def limits_of(text: str) -> dict[str, TenantLimit]:
    """``acme=held, globex=10/s`` as a mapping. Raises `InvalidTopic`."""
    limits: dict[str, TenantLimit] = {}
    for each in filter(None, (part.strip() for part in text.replace("\n", ",").split(","))):
        tenant, _, said = (part.strip() for part in each.rpartition("="))
        limit = limit_of(said)
        if not tenant or limit is None:
            raise InvalidTopic(f"tenant_limits says {each!r:.100}, which must be <tenant>={LIMIT_RULE}")
        try:
            check_tenant(tenant)
        except InvalidMessage as error:
            raise InvalidTopic(f"tenant_limits: {error}") from None
        if tenant in limits:
            raise InvalidTopic(f"tenant_limits names the tenant {tenant!r} twice: keep one of them")
        limits[tenant] = limit
    if len(limits) > WEIGHTS_MOST:
        raise InvalidTopic(f"tenant_limits names {len(limits)} tenants; it may name {WEIGHTS_MOST} at most")
    return limits


def with_limit(text: str, tenant: str, limit: str) -> str:
    """Those limits with that one of a tenant; "": it has none. Raises `InvalidTopic`."""
    try:
        check_tenant(tenant)
    except InvalidMessage as error:
        raise InvalidTopic(str(error)) from None
    if not tenant or "," in tenant or "\n" in tenant or tenant != tenant.strip():
        raise InvalidTopic(
            f"a tenant with a limit must have a name without commas and outer spaces, not {tenant!r:.100}"
        )
    limits = {name: str(each) for name, each in limits_of(text).items() if name != tenant}
    if limit:
        limits[tenant] = limit
    wanted = ", ".join(f"{name}={each}" for name, each in limits.items())
    check_limits(wanted)
    return wanted


def check_limits(limits: object) -> None:
    """Raises `InvalidTopic` for what is no list of limits."""
    if not isinstance(limits, str) or len(limits) > WEIGHTS_TEXT_MAX:
        raise InvalidTopic(
            f"tenant_limits must be text like 'acme=held, globex=10/s', of at most {WEIGHTS_TEXT_MAX} characters"
        )
    limits_of(limits)


def check_weights(weights: object) -> None:
    """Raises `InvalidTopic` for what is no list of weights."""
    if not isinstance(weights, str) or len(weights) > WEIGHTS_TEXT_MAX:
        raise InvalidTopic(
            f"tenant_weights must be text like 'acme=3, globex=10', of at most {WEIGHTS_TEXT_MAX} characters"
        )
    weights_of(weights)


def tenant_of(rule: str, headers: Mapping[str, str] | None, key: bytes | None) -> str:
    """By a topic's rule: the value of a header, or the key up to the separator, as far as it can be the name of a
    tenant (the first bytes, up to U+0000); "" where there is none."""
    how, _, what = rule.partition(":")
    if how == "header":
        raw = (headers or {}).get(what, "").encode(errors="replace")
    else:
        before, separator, _ = (key or b"").partition(what.encode())
        raw = before if separator else b""
    return raw[:TENANT_MAX].decode(errors="ignore").partition(NUL)[0]


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
    do; it is what its ``weight`` gives it among them. ``limit``: what else caps it ("": nothing), ``capped``: whether
    it may have nothing because of that now. "": messages that name no tenant, which take turns as one.
    """

    tenant: str
    weight: int
    waiting: int
    share: float
    limit: str = ""
    capped: bool = False


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
