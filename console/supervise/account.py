"""The first user: made once, with a password nobody has to invent."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.db import transaction

from console.supervise.folder import DataFolder
from console.usecases.people import By, note_created

NAME = "admin"
FILE = "admin_password"


def ensure_admin(folder: DataFolder) -> str:
    """Make the user if there is none; returns what to print about the password."""
    users = get_user_model().objects
    user = users.filter(username=NAME).first()
    if user is None:
        if users.filter(is_superuser=True, is_active=True).exists():
            return "sign in with your own account"
        password = folder.secret(FILE, 12)
        with transaction.atomic():
            note_created(By("manage.py prepare", via="command"), users.create_superuser(NAME, password=password))
        return f"sign in as {NAME} with the password {password} (kept in {folder.path / FILE})"
    kept = folder.read(FILE)
    if kept and user.check_password(kept):
        return f"sign in as {NAME} with the password {kept} (kept in {folder.path / FILE})"
    return f"sign in as {NAME} with the password you have set"
