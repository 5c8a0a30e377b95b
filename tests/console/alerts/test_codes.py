"""Every problem that the keeper can find has its words in the browser, and a rule can be about it."""

from __future__ import annotations

import re

from console.alerts.defaults import DEFAULTS
from console.config.environment import BASE_DIR
from console.models.alerts import PROBLEMS

WORDS = BASE_DIR / "console" / "static" / "console" / "js" / "parts" / "problems.js"


def test_rules_and_words_know_the_same_problems() -> None:
    sentences = WORDS.read_text().partition("const SENTENCES = {")[2].partition("\n};")[0]
    worded = set(re.findall(r"^  (\w+): \(", sentences, re.M))
    assert worded - set(PROBLEMS) == {"paused"}, "what somebody did is no alert"
    assert set(PROBLEMS) <= worded
    assert {problem for _, problem, _, _ in DEFAULTS} <= set(PROBLEMS)
