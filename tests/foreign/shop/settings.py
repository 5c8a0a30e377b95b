"""A project that was there before the console: its own users, its own database, its own admin."""

import json
import os

import dj_database_url

import console
from console.sso import options as sso

DEBUG = False
SECRET_KEY = "of-a-shop-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEF"
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "tests.foreign.shop.urls"
ASGI_APPLICATION = "tests.foreign.shop.asgi.application"
AUTH_USER_MODEL = "shop.Person"
STATIC_URL = "/static/"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"  # another than the console's

INSTALLED_APPS = [
    *(["unfold", "unfold.contrib.forms"] if os.environ["SHOP_ADMIN"] == "unfold" else []),
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "tests.foreign.shop",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
DATABASES = {"default": dj_database_url.parse(os.environ["SHOP_DATABASE"])}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "timeout": 20}

# What the documents say one has to add.
INSTALLED_APPS += console.APPS
ASGI_APPLICATION = "tests.foreign.shop.asgi.application"
RMQ_CONSOLE = {
    "REDIS_URL": os.environ["SHOP_REDIS"],
    "NAMESPACE": "shop",
    "LISTENERS": ["tests.foreign.shop.listeners:LISTENERS"],
    "SAMPLE_INTERVAL_MS": 300,
}

# And what they say of single sign-on, with people who are named by their addresses.
if given := json.loads(os.environ.get("SHOP_SSO", "null")):
    globals().update(sso.django_settings(given))
INSTALLED_APPS += sso.APPS
MIDDLEWARE += sso.MIDDLEWARE
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend", *sso.BACKENDS]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
