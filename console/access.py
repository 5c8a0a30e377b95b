"""Who may do what: the only place that decides it, for pages, sockets and the API alike."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils.translation import gettext, gettext_lazy

EVERY_TOPIC = "*"


class Permission(StrEnum):
    """What a role can hold; the values are codenames of Django permissions of this app."""

    VIEW = "view_live"
    READ_PAYLOAD = "read_payload"
    OPERATE = "operate"
    EDIT_TOPICS = "edit_topics"
    ADMINISTER = "administer"
    AUDIT = "view_auditentry"


LABELS = {
    Permission.VIEW: gettext_lazy("see topics, numbers and metadata"),
    Permission.READ_PAYLOAD: gettext_lazy("read message content"),
    Permission.OPERATE: gettext_lazy("cancel, reschedule, requeue, pause, drain and pin"),
    Permission.EDIT_TOPICS: gettext_lazy("edit topic definitions"),
    Permission.ADMINISTER: gettext_lazy("drop messages, delete topics, manage users"),
    Permission.AUDIT: gettext_lazy("read the audit"),
}

# Each role includes the one before it. Migration 0002 makes them Django groups ("RMQ Viewer", … in other projects).
ROLES: dict[str, tuple[Permission, ...]] = {
    "Viewer": (Permission.VIEW,),
    "Payload reader": (Permission.VIEW, Permission.READ_PAYLOAD),
    "Operator": (Permission.VIEW, Permission.READ_PAYLOAD, Permission.OPERATE),
    "Editor": (Permission.VIEW, Permission.READ_PAYLOAD, Permission.OPERATE, Permission.EDIT_TOPICS),
    "Admin": tuple(Permission),
}
ROLE_WORDS = {
    "Viewer": gettext_lazy("Viewer"),
    "Payload reader": gettext_lazy("Payload reader"),
    "Operator": gettext_lazy("Operator"),
    "Editor": gettext_lazy("Editor"),
    "Admin": gettext_lazy("Admin"),
}
"""What people read; groups and tokens keep the name itself."""


class Action(StrEnum):
    """Everything a person can do from the console or the API that changes something."""

    CANCEL = "cancel"
    RESCHEDULE = "reschedule"
    RUN_NOW = "run_now"
    REQUEUE = "requeue"
    DROP = "drop"
    ACKNOWLEDGE = "acknowledge"
    ACCEPT_DATA = "accept_data"
    PAUSE = "pause"
    RESUME = "resume"
    DRAIN = "drain"
    UNDRAIN = "undrain"
    PIN = "pin"
    UNPIN = "unpin"
    HOLD = "hold"
    LIFT = "lift"
    SKIP = "skip"
    PURGE = "purge"
    RESTORE = "restore"
    SEND = "send"
    CREATE_TOPIC = "create_topic"
    EDIT_TOPIC = "edit_topic"
    DELETE_TOPIC = "delete_topic"
    FORCE_DELETE = "force_delete"
    STOP_OPERATION = "stop_operation"
    TOKENS = "tokens"
    RECONCILE = "reconcile"
    ARCHIVE = "archive"
    RESTORE_ALL = "restore_all"
    ERASE = "erase"
    SCHEDULE = "schedule"
    REPAIR = "repair"
    UNFENCE = "unfence"
    RECURRING = "recurring"
    RUN_RECURRING = "run_recurring"
    PUT_ROUTE = "put_route"
    PAUSE_ROUTE = "pause_route"
    RESUME_ROUTE = "resume_route"
    DELETE_ROUTE = "delete_route"
    REDRIVE = "redrive"
    DELETE_ENTRIES = "delete_entries"
    TRIM = "trim"
    CREATE_GROUP = "create_group"
    EDIT_GROUP = "edit_group"
    MOVE_GROUP = "move_group"
    CLAIM = "claim"
    DELETE_GROUP = "delete_group"
    RETRY_OUTBOX = "retry_outbox"
    DISCARD_OUTBOX = "discard_outbox"
    ALERT_RULE = "alert_rule"
    ALERT_RECEIVER = "alert_receiver"
    SILENCE = "silence"
    SCREEN = "screen"
    SCREEN_LINK = "screen_link"
    TOPIC_SCOPE = "topic_scope"
    SHARE_VIEW = "share_view"


NEEDED: dict[Action, Permission] = {
    Action.CANCEL: Permission.OPERATE,
    Action.RESCHEDULE: Permission.OPERATE,
    Action.RUN_NOW: Permission.OPERATE,
    Action.REQUEUE: Permission.OPERATE,
    Action.DROP: Permission.ADMINISTER,
    Action.ACKNOWLEDGE: Permission.OPERATE,
    Action.ACCEPT_DATA: Permission.OPERATE,
    Action.PAUSE: Permission.OPERATE,
    Action.RESUME: Permission.OPERATE,
    Action.DRAIN: Permission.OPERATE,
    Action.UNDRAIN: Permission.OPERATE,
    Action.PIN: Permission.OPERATE,
    Action.UNPIN: Permission.OPERATE,
    Action.HOLD: Permission.OPERATE,
    Action.LIFT: Permission.OPERATE,
    Action.SKIP: Permission.OPERATE,
    Action.PURGE: Permission.ADMINISTER,
    Action.RESTORE: Permission.OPERATE,
    Action.SEND: Permission.OPERATE,
    Action.CREATE_TOPIC: Permission.EDIT_TOPICS,
    Action.EDIT_TOPIC: Permission.EDIT_TOPICS,
    Action.DELETE_TOPIC: Permission.ADMINISTER,
    Action.FORCE_DELETE: Permission.ADMINISTER,
    Action.STOP_OPERATION: Permission.OPERATE,
    Action.TOKENS: Permission.ADMINISTER,
    Action.RECONCILE: Permission.OPERATE,
    Action.ARCHIVE: Permission.OPERATE,
    Action.RESTORE_ALL: Permission.ADMINISTER,
    Action.ERASE: Permission.ADMINISTER,
    Action.SCHEDULE: Permission.EDIT_TOPICS,
    Action.REPAIR: Permission.OPERATE,
    Action.UNFENCE: Permission.ADMINISTER,
    Action.RECURRING: Permission.EDIT_TOPICS,
    Action.RUN_RECURRING: Permission.OPERATE,
    Action.PUT_ROUTE: Permission.EDIT_TOPICS,
    Action.PAUSE_ROUTE: Permission.OPERATE,
    Action.RESUME_ROUTE: Permission.OPERATE,
    Action.DELETE_ROUTE: Permission.EDIT_TOPICS,
    Action.REDRIVE: Permission.ADMINISTER,
    Action.DELETE_ENTRIES: Permission.ADMINISTER,
    Action.TRIM: Permission.OPERATE,
    Action.CREATE_GROUP: Permission.EDIT_TOPICS,
    Action.EDIT_GROUP: Permission.EDIT_TOPICS,
    Action.MOVE_GROUP: Permission.OPERATE,
    Action.CLAIM: Permission.OPERATE,
    Action.DELETE_GROUP: Permission.ADMINISTER,
    Action.RETRY_OUTBOX: Permission.OPERATE,
    Action.DISCARD_OUTBOX: Permission.ADMINISTER,
    Action.ALERT_RULE: Permission.EDIT_TOPICS,
    Action.ALERT_RECEIVER: Permission.ADMINISTER,
    Action.SILENCE: Permission.OPERATE,
    Action.SCREEN: Permission.EDIT_TOPICS,
    Action.SCREEN_LINK: Permission.ADMINISTER,
    Action.TOPIC_SCOPE: Permission.ADMINISTER,
    Action.SHARE_VIEW: Permission.OPERATE,
}

FOR_ALL_TOPICS = frozenset(
    {
        Action.ACCEPT_DATA, Action.ALERT_RECEIVER, Action.DRAIN, Action.SCHEDULE, Action.SCREEN, Action.SCREEN_LINK,
        Action.TOKENS, Action.TOPIC_SCOPE, Action.UNDRAIN,
    }
)  # fmt: skip
"""What concerns all topics: not for those who are for some."""
ADMINISTERED_REPAIRS = frozenset({"drop_orphan", "correct_counters", "take_stock"})
"""For administrators: orphans may be the only trace of a content; and whoever corrects a ledger says what is true."""


@dataclass(frozen=True)
class TokenUser:
    """Who acts through an API token: nobody's account, a role of its own, some topics (patterns with * and ?)."""

    name: str
    prefix: str
    role: str
    topics: tuple[str, ...] = (EVERY_TOPIC,)

    is_active: ClassVar[bool] = True
    is_authenticated: ClassVar[bool] = True

    def has_perm(self, name: str) -> bool:
        app, _, code = name.partition(".")
        return app == "console" and code in ROLES.get(self.role, ())

    def get_username(self) -> str:
        return f"token {self.name} ({self.prefix})"


User = AbstractBaseUser | AnonymousUser | TokenUser


class Forbidden(Exception):
    """The user lacks a permission; the text says which one and what it is for."""

    def __init__(self, permission: Permission, text: str = "") -> None:
        self.permission = permission
        super().__init__(text or missing(permission))


class OutOfScope(Forbidden):
    """The token, or the person, is not for that topic, or not for what concerns all topics."""


def allowed(user: User, what: Permission | Action, topic: str | None = None) -> bool:
    """Whether an active, signed-in user holds a permission, or the one an action needs, for a topic ("": for all)."""
    permission = NEEDED[what] if isinstance(what, Action) else what
    topic = "" if what in FOR_ALL_TOPICS else topic
    held = bool(user.is_active and user.is_authenticated and user.has_perm(f"console.{permission}"))  # type: ignore[union-attr]
    return held and (topic is None or in_scope(user, topic))


def require(user: User, what: Permission | Action, topic: str | None = None) -> None:
    """Raise `Forbidden` unless `allowed`; `OutOfScope` where it is the topic that a token is not for."""
    permission = NEEDED[what] if isinstance(what, Action) else what
    topic = "" if what in FOR_ALL_TOPICS else topic
    if not allowed(user, permission):
        raise Forbidden(permission)
    if topic is not None and not in_scope(user, topic):
        raise OutOfScope(permission, _outside(isinstance(user, TokenUser), topic))


def _outside(token: bool, topic: str) -> str:
    if token:
        about = gettext("This token is not for the topic “%(topic)s”.") % {"topic": topic}
        return about if topic else gettext("This token is for some topics only.")
    about = gettext("Your roles are not for the topic “%(topic)s”.") % {"topic": topic}
    return about if topic else gettext("Your roles are for some topics only; this concerns all of them.")


def split_patterns(text: str) -> tuple[str, ...]:
    """Topic patterns as they are typed: between commas or blanks."""
    return tuple(dict.fromkeys(part for part in re.split(r"[\s,]+", text) if part))


class ByStream(tuple[str, ...]):
    """Patterns of people: a group is as its stream. Those of tokens name groups, too."""

    __slots__ = ()


def topics_of(user: User) -> tuple[str, ...]:
    """Patterns of the topics somebody may deal with: a token's own, a person's by the groups they are in.

    Groups without patterns say nothing of topics; of the others all patterns count together (decision 300).
    """
    if isinstance(user, TokenUser):
        return user.topics
    known: tuple[str, ...] | None = getattr(user, "_rmq_topics", None)  # like Django's permissions: once a request
    if known is None:
        known = user._rmq_topics = _topics_by_groups(user)  # type: ignore[union-attr]
    return known


def _topics_by_groups(user: Any) -> tuple[str, ...]:
    if not user.is_authenticated or getattr(user, "is_superuser", False) or not hasattr(user, "groups"):
        return (EVERY_TOPIC,)
    found = user.groups.exclude(rmq_topics=None).order_by("rmq_topics")
    texts = list(found.values_list("rmq_topics__patterns", flat=True))
    return ByStream(split_patterns(" ".join(texts))) if texts else (EVERY_TOPIC,)


def in_scope(user: User, topic: str) -> bool:
    """Whether somebody may deal with a topic at all; "" stands for what concerns all."""
    return covers(topics_of(user), topic)


def covers(patterns: tuple[str, ...], topic: str) -> bool:
    if EVERY_TOPIC in patterns:
        return True
    name = topic.partition("@")[0] if isinstance(patterns, ByStream) else topic
    return bool(topic) and any(fnmatchcase(name, pattern) for pattern in patterns)


def rows_in_scope(user: User, field: str = "topic") -> Q:
    """The same as a condition of the database, on a field that holds the name of a topic."""
    names = _names_of(user)
    return Q() if names is None else Q(**{f"{field}__regex": f"^{names}$"}) if names else Q(pk__in=[])


def lists_in_scope(rows: QuerySet[Any], user: User, field: str = "topics") -> QuerySet[Any]:
    """Rows whose list of names (JSON) has only topics that somebody may deal with; an empty list stands for all."""
    names = _names_of(user)
    if names is None:
        return rows
    each = f'"{names}"'
    text = Cast(field, TextField())
    return rows.alias(_names=text).filter(_names__regex=rf"^\[{each}(, {each})*\]$") if names else rows.none()


def _names_of(user: User) -> str | None:
    """A regular expression for the topics somebody may deal with; "" for none, None for all."""
    patterns = topics_of(user)
    if EVERY_TOPIC in patterns:
        return None
    by_stream = isinstance(patterns, ByStream)
    signs = {"*": '[^@"]*', "?": '[^@"]'} if by_stream else {"*": '[^"]*', "?": '[^"]'}  # no name has quotes
    either = "|".join("".join(signs.get(sign) or re.escape(sign) for sign in each) for each in patterns)
    return f"({either})" + ('(@[^"]*)?' if by_stream else "") if patterns else ""


def account_of(user: User) -> AbstractBaseUser | None:
    """For foreign keys: the account, None for tokens and unknown callers. `get_username()` names all of them."""
    return user if isinstance(user, AbstractBaseUser) else None


def missing(permission: Permission) -> str:
    """A sentence naming a permission that is needed, for tooltips and refusals."""
    return gettext("Needs the permission “%(code)s” (%(label)s).") % {
        "code": permission.value,
        "label": LABELS[permission],
    }


@dataclass(frozen=True)
class Grants:
    """What one user may do, in the form pages hand to the browser."""

    payload: bool
    actions: dict[str, str | None]

    def as_json(self) -> dict[str, Any]:
        return {"payload": self.payload, "actions": self.actions}


def grants(user: User) -> Grants:
    """For every action None where it is allowed, else the sentence that says what is missing."""
    return Grants(
        payload=allowed(user, Permission.READ_PAYLOAD),
        actions={action.value: _lacking(user, action) for action in Action},
    )


def _lacking(user: User, action: Action) -> str | None:
    try:
        require(user, action)
    except Forbidden as refusal:
        return str(refusal)
    return None
