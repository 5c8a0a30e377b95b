"""Which messages somebody means: a state, and what must hold for a message of it. Checked on the way in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

from rmq_core.errors import InvalidFilter
from rmq_core.figures import digits
from rmq_core.model import comparison
from rmq_core.model.fingerprints import LENGTH
from rmq_core.model.scores import SCORE_MAX, SHIFT
from rmq_core.model.states import FORMER, state_named
from rmq_core.model.text import NotText, check_unicode
from rmq_core.model.topic import MAX_SLOTS, Topic

FilterState: TypeAlias = Literal["delayed", "ready", "retrying", "held", "dead", "trash"]
FILTER_STATES: tuple[FilterState, ...] = get_args(FilterState)
TEXT_MAX = 1_000
MS_MAX = SCORE_MAX // SHIFT

_FINGERPRINT = re.compile(rf"[0-9a-f]{{{LENGTH}}}")
_WHOLE = re.compile(r"[0-9]{1,16}")


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """Selects messages of one state; everything that is given must hold.

    ``text`` is in the id or the content, ``error`` in the last failure's class or message (both as written: upper and
    lower case differ), ``where`` holds for the content, which is JSON (`comparison`), ``fingerprint`` is exactly the
    cluster's, ``tenant`` exactly whose they are (``""``: nobody's). ``since_ms`` and ``until_ms``, both included, bound
    the row's time: due (delayed, ready, retrying), died (dead) or removed (trash). Raises `InvalidFilter`.
    """

    state: FilterState
    text: str = ""
    error: str = ""
    fingerprint: str = ""
    slot: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    where: str = ""
    tenant: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.state, str) and self.state in FORMER:
            object.__setattr__(self, "state", state_named(self.state))
        if self.state not in FILTER_STATES:
            raise InvalidFilter("state", f"{self.state!r:.80} must be one of {', '.join(FILTER_STATES)}")
        self._text("text")
        self._text("where")
        if self.where:
            comparison.check(self.where)
        self._text("error")
        if self.tenant is not None:
            self._text("tenant")
        if self.fingerprint != "" and not (
            isinstance(self.fingerprint, str) and _FINGERPRINT.fullmatch(self.fingerprint)
        ):
            raise InvalidFilter("fingerprint", f"{self.fingerprint!r:.80} must be {LENGTH} of the digits 0-9 and a-f")
        self._whole("slot", MAX_SLOTS - 1)
        self._whole("since_ms", MS_MAX)
        self._whole("until_ms", MS_MAX)
        if self.since_ms is not None and self.until_ms is not None and self.since_ms > self.until_ms:
            raise InvalidFilter("until_ms", f"{self.until_ms} must not be before since_ms={self.since_ms}")

    def _text(self, name: str) -> None:
        value = getattr(self, name)
        if not isinstance(value, str) or len(value) > TEXT_MAX:
            raise InvalidFilter(name, f"must be text of at most {TEXT_MAX} characters")
        try:
            check_unicode(value)
        except NotText as error:
            raise InvalidFilter(name, str(error)) from None

    def _whole(self, name: str, high: int) -> None:
        value = getattr(self, name)
        if value is not None and (type(value) is not int or not 0 <= value <= high):
            raise InvalidFilter(name, f"{value!r:.80} must be a whole number from 0 to {digits(high)}")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> MessageFilter:
        """From untrusted values; whole numbers may come as text. Raises `InvalidFilter`, naming the field."""
        if not isinstance(values, Mapping):
            raise InvalidFilter("filter", f"must be an object of fields, not {type(values).__name__}")
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise InvalidFilter(f"{name!s:.80}", f"is no field of a filter; those are {', '.join(known)}")
        if "state" not in values:
            raise InvalidFilter("state", f"is missing; it is one of {', '.join(FILTER_STATES)}")
        given = dict(values)
        for name in ("slot", "since_ms", "until_ms"):
            value = given.get(name)
            if isinstance(value, str) and _WHOLE.fullmatch(value):
                given[name] = int(value)
        for name in ("text", "where", "error", "fingerprint", "tenant"):
            if given.get(name, "") is None:
                del given[name]
        if not isinstance(given["state"], str):
            raise InvalidFilter("state", f"must be one of {', '.join(FILTER_STATES)}")
        given["state"] = FORMER.get(given["state"], given["state"])
        return cls(**given)

    def to_mapping(self) -> dict[str, Any]:
        """What `from_mapping` reads: the state, and whatever else is given."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in given.items() if value is not None and (value != "" or name == "tenant")}

    @property
    def needs_content(self) -> bool:
        """Whether what it selects tells of contents: only for those who may read them."""
        return bool(self.text or self.where or self.error)

    @property
    def needs_look(self) -> bool:
        """Whether messages have to be looked at one by one."""
        return bool(self.text or self.where or self.error or self.fingerprint) or self.tenant is not None

    def slots(self, topic: Topic) -> range:
        """The slots it is about. Raises `InvalidFilter` for one that the topic does not have."""
        if self.slot is None:
            return range(topic.slots)
        if self.slot >= topic.slots:
            raise InvalidFilter("slot", f"{self.slot} must be a whole number from 0 to {digits(topic.slots - 1)}")
        return range(self.slot, self.slot + 1)
