"""How hard hypothesis tries: ``HYPOTHESIS_PROFILE=long`` for more than a run of all tests has time for."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

_COMMON = {
    "deadline": None,  # the machine may be busy with something else
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
}


NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""To make a failing history of many calls shorter takes longer than a test may: ``long`` does."""


def load_profile() -> None:
    """Chooses one; conftest modules call it. In CI the examples are the same each time."""
    same = os.environ.get("CI") == "true"
    settings.register_profile("quick", max_examples=50, stateful_step_count=40, derandomize=same, **_COMMON)
    settings.register_profile("long", max_examples=2_000, stateful_step_count=100, **_COMMON)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
