"""What all engine tests share: hypothesis profiles."""

from __future__ import annotations

from tests.support.profiles import load_profile

load_profile()
