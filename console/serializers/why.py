"""Why something is late, as JSON: the engine's answer, its sentences in the language that is active."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext, ngettext

from rmq_core.why.answer import Reason, Why
from rmq_core.why.sentences import HIDDEN, Plural


def reason_json(reason: Reason) -> dict[str, Any]:
    """One of them alone, as of a send that is only tried."""
    return {"code": reason.code, "text": _text(reason), "values": dict(reason.values)}


def why_json(found: Why) -> dict[str, Any]:
    answer = found.as_dict()
    for line, reason in zip(answer["reasons"], found.reasons, strict=True):
        line["text"] = _text(reason)
    return answer


def _text(reason: Reason) -> str:
    words = reason.sentence
    if isinstance(words, Plural):
        return reason.filled(ngettext(words.one, words.many, reason.values[words.by]), gettext(HIDDEN))
    return reason.filled(gettext(words), gettext(HIDDEN))
