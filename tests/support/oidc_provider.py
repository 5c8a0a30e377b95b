"""A real OpenID provider (django-oauth-toolkit) as a process of its own: `python -m tests.support.oidc_provider PORT`.

It wants PKCE, signs its tokens, knows refresh tokens and signing out. `POST /control/ {"user", "groups", "active"}`
says who is there and in which groups; `GET /control/` how often each was asked for again.
"""

from __future__ import annotations

import json
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application

CLIENT, SECRET, PASSWORD = "rmq-console", "the-client-secret-of-the-tests", "pw"
LOGIN = '<form method="post">{% csrf_token %}<input type="hidden" name="next" value="{{ next }}"></form>'


def configure(port: int) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    settings.configure(
        SECRET_KEY="of-the-provider-0123456789-abcdefghijklmnopqrstuvwxyz",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=__name__,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        USE_TZ=True,
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],  # of people, and of the client's secret
        SESSION_COOKIE_NAME="provider_session",
        CSRF_COOKIE_NAME="provider_csrf",
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
            "oauth2_provider",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {
                    "loaders": [
                        ("django.template.loaders.locmem.Loader", {"registration/login.html": LOGIN}),
                        "django.template.loaders.app_directories.Loader",
                    ],
                    "context_processors": ["django.template.context_processors.request"],
                },
            }
        ],
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True,
            "OIDC_RSA_PRIVATE_KEY": key.decode(),
            "OIDC_ISS_ENDPOINT": f"http://127.0.0.1:{port}/o",
            "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
            "OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT": False,
            "OAUTH2_VALIDATOR_CLASS": "tests.support.oidc_claims.Claims",
            "PKCE_REQUIRED": True,
            "SCOPES": {"openid": "who", "profile": "name", "email": "address"},
        },
    )


def main(port: int, back: str, signed_out: str) -> None:
    configure(port)
    django.setup()
    call_command("migrate", verbosity=0)
    from oauth2_provider.models import Application

    Application.objects.create(
        name="the console",
        client_id=CLIENT,
        client_secret=SECRET,
        client_type="confidential",
        authorization_grant_type="authorization-code",
        redirect_uris=back,
        post_logout_redirect_uris=signed_out,
        skip_authorization=True,
        algorithm="RS256",
    )
    with make_server("127.0.0.1", port, get_wsgi_application(), handler_class=Quiet) as server:
        server.serve_forever()


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        """Says nothing."""


def __getattr__(name: str) -> object:
    """`urlpatterns`, which can only be made once Django is set up."""
    if name != "urlpatterns":
        raise AttributeError(name)
    from django.contrib.auth.views import LoginView
    from django.urls import include, path

    return [
        path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
        path("accounts/login/", LoginView.as_view()),
        path("control/", control),
    ]


def control(request: object) -> object:
    from django.contrib.auth.models import Group, User
    from django.http import JsonResponse

    from tests.support.oidc_claims import ASKED

    if request.method == "GET":  # type: ignore[attr-defined]
        return JsonResponse(ASKED)
    wanted = json.loads(request.body)  # type: ignore[attr-defined]
    user, made = User.objects.get_or_create(username=wanted["user"], email=f"{wanted['user']}@example.com")
    if made:
        user.set_password(PASSWORD)
    user.is_active = wanted.get("active", True)
    user.save()
    user.groups.set(Group.objects.get_or_create(name=name)[0] for name in wanted.get("groups", ()))
    return JsonResponse({"sub": str(user.pk)})


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
