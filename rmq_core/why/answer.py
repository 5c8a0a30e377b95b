"""What is answered: reasons, the one that decides first, each with its evidence and a sentence for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rmq_core.figures import duration, number
from rmq_core.why.sentences import HIDDEN, SENTENCES, Plural

CALM = frozenset({"on_its_way", "nothing_ready", "due_later", "not_due", "in_flight", "gone", "removed", "finished"})
"""Those that explain, and hold nothing up."""


@dataclass(frozen=True, slots=True)
class Reason:
    """``code`` names the sentence, ``values`` fill it in. ``id`` among them: of a message; None where it is hidden."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The sentence, in English."""
        sentence = self.sentence
        if isinstance(sentence, Plural):
            return self.filled(sentence.one if self.values[sentence.by] == 1 else sentence.many)
        return self.filled(sentence)

    @property
    def sentence(self) -> str | Plural:
        """With room for the values."""
        return SENTENCES[f"{self.code}_capped" if self.values.get("capped") else self.code]

    def filled(self, sentence: str, hidden: str = HIDDEN) -> str:
        """A sentence in whichever language, with the values in it."""
        return sentence.format_map({name: worded(name, value, hidden) for name, value in self.values.items()})

    def without(self, *names: str) -> Reason:
        """The same where those values may not be read."""
        return replace(self, values={name: None if name in names else value for name, value in self.values.items()})


@dataclass(frozen=True, slots=True)
class Why:
    """``late_ms``: for how long the oldest has been due, or the message; None where that is not known. ``reasons``:
    what decides comes first. ``at_ms``: the Redis clock."""

    topic: str
    slot: int | None
    id: str | None
    at_ms: int
    late_ms: int | None
    reasons: tuple[Reason, ...]

    @property
    def text(self) -> str:
        """The answer in one sentence."""
        return self.reasons[0].text

    def as_dict(self) -> dict[str, Any]:
        """With the sentences, for JSON."""
        values = asdict(self)
        values["reasons"] = [
            {"code": each.code, "text": each.text, "calm": each.code in CALM, "values": dict(each.values)}
            for each in self.reasons
        ]
        return values


def worded(name: str, value: Any, hidden: str = HIDDEN) -> str:
    """A value of a sentence."""
    if value is None:
        return hidden
    if name.endswith("_ms"):
        return duration(value)
    if isinstance(value, float):
        return number(value, 1)
    return number(value) if isinstance(value, int) else str(value)
