from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models


class People(BaseUserManager["Person"]):
    def create_superuser(self, email: str, password: str, **more: Any) -> Person:
        person = self.model(email=email, is_staff=True, is_superuser=True, **more)
        person.set_password(password)
        person.save()
        return person


class Person(AbstractBaseUser, PermissionsMixin):
    """Somebody with an address instead of a name."""

    email = models.EmailField(unique=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)

    USERNAME_FIELD = "email"
    objects = People()


class Order(models.Model):
    number = models.CharField(max_length=40)
