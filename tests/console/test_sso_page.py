"""What docs/how-to/single-sign-on.md says for the environment, and for a Django project, is what the console takes."""

from __future__ import annotations

import re
from typing import Any

from console.config.environment import read_environment
from tests.docs.blocks import ROOT, blocks

ENVIRONMENT, SETTINGS, ADDRESSES = blocks(ROOT / "docs/how-to/single-sign-on.md")


def test_the_environment_is_taken() -> None:
    pairs = re.findall(r'^export (\w+)="?([^"\n]+)"?$', ENVIRONMENT.code, re.MULTILINE)
    taken = read_environment(dict(pairs)).sso
    assert taken is not None and taken["issuer"] == "https://login.example.com/realms/us"
    assert taken["roles"] == {"queue-admins": "Admin", "ops": "Operator", "everybody": "Viewer"}


def test_the_settings_of_a_project_are_taken() -> None:
    names: dict[str, Any] = {"INSTALLED_APPS": [], "MIDDLEWARE": []}
    exec(SETTINGS.code, names)
    assert "allauth" in names["INSTALLED_APPS"] and names["MIDDLEWARE"] and names["AUTHENTICATION_BACKENDS"][1:]


def test_the_addresses_are_those_of_the_project_that_signs_in() -> None:
    """Under another prefix; that of tests/foreign/test_app.py is where somebody really signs in."""
    included = re.findall(r'include\("([\w.]+)"\)', ADDRESSES.code)
    assert included == ["console.sso.urls", "console.urls"]
    shop = (ROOT / "tests/foreign/shop/urls.py").read_text()
    assert shop.index(f'include("{included[0]}")') < shop.index(f'include("{included[1]}")')
