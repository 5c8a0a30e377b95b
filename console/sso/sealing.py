"""Tokens of the provider open doors: they are kept encrypted, with a key that is made of `SECRET_KEY`."""

from __future__ import annotations

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings


def seal(text: str) -> str:
    """Encrypt; nothing stays nothing."""
    return _box().encrypt(text.encode()).decode() if text else ""


def unseal(text: str) -> str:
    """Nothing also where it was sealed with another key."""
    try:
        return _box().decrypt(text.encode()).decode() if text else ""
    except InvalidToken:
        return ""


def _box() -> Fernet:
    digest = hashlib.sha256(b"rmq single sign-on " + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))
