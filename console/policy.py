"""The header that keeps hostile content from running in a page."""

from __future__ import annotations

import functools
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpResponseBase

HEADER = "Content-Security-Policy"


@functools.cache
def policy() -> str:
    """Inline scripts and foreign origins are forbidden, so injected markup cannot run.

    Unfold needs two concessions: Alpine evaluates its attributes ('unsafe-eval'), and the theme's colours and element
    styles are inline. A project may serve its static files from an origin of their own.
    """
    static = urlsplit(settings.STATIC_URL or "")
    origins = "'self'" + (f" {static.scheme or 'https'}://{static.netloc}" if static.netloc else "")
    return "; ".join(
        (
            f"default-src {origins}",
            f"script-src {origins} 'unsafe-eval'",
            f"style-src {origins} 'unsafe-inline'",
            f"img-src {origins} data:",
            "object-src 'none'",
            "base-uri 'none'",
            f"form-action 'self'{_provider()}",
            "frame-ancestors 'none'",
        )
    )


def _provider() -> str:
    """Signing out is a form that leads on to the provider of single sign-on."""
    issuer = urlsplit((getattr(settings, "RMQ_SSO", None) or {}).get("issuer", ""))
    return f" {issuer.scheme}://{issuer.netloc}" if issuer.netloc else ""


def protect(response: HttpResponseBase) -> None:
    """Add it, unless the answer has one."""
    response.headers.setdefault(HEADER, policy())
