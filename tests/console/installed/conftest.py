"""One installation, and the secrets of tokens for it: Django takes seconds to start, so all are made at once."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.console.stack import Stack

MAKE_TOKENS = """
import json
from datetime import timedelta
from django.utils import timezone
from console.usecases import tokens
from console.models import ApiToken
secrets = {}
for name, role in (("admin", "Admin"), ("operator", "Operator"), ("revoked", "Operator")):
    token = ApiToken(name=name, role=role, rate_per_minute=100000, expires_at=timezone.now() + timedelta(hours=1))
    secrets[name] = tokens.give_secret(token)
    token.save()
print(json.dumps(secrets))
"""


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("installed") / "data", "--shared") as stack:
        yield stack


@pytest.fixture(scope="package")
def secrets(stack: Stack) -> dict[str, str]:
    """Of an "admin", an "operator", and one that a test revokes."""
    found: dict[str, str] = json.loads(stack.manage(MAKE_TOKENS))
    return found
