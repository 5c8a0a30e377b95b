"""People of every role who edit definitions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from tests.console.definitions.steps import Editors


@pytest.fixture
def editors(as_role: Callable[..., Client]) -> Editors:
    return Editors(as_role)
