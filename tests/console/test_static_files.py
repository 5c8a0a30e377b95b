"""Browsers keep static files for good by the address of their release, and by no other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as given
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from console.config.staticfiles import StaticFiles
from console.release import RELEASE

FOR_GOOD = "max-age=315360000, public, immutable"
Ask = Callable[[str], HttpResponse]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "static" / "console" / "a.js"
    path.parent.mkdir(parents=True)
    path.write_text("first")
    return path


@pytest.fixture(params=["synchronous", "asynchronous"])
def ask(request: pytest.FixtureRequest, file: Path, settings: Any) -> Ask:
    settings.STATIC_URL, settings.STATIC_ROOT = f"/static/{RELEASE}/", str(file.parents[1])
    settings.WHITENOISE_AUTOREFRESH = settings.WHITENOISE_USE_FINDERS = False

    async def nothing(_: HttpRequest) -> HttpResponse:
        return HttpResponse(status=404)

    if request.param == "synchronous":
        synchronous = StaticFiles(lambda _: HttpResponse(status=404))
        return lambda path: synchronous(RequestFactory().get(path))
    asynchronous = StaticFiles(nothing)
    return lambda path: asyncio.run(asynchronous(RequestFactory().get(path)))


def test_pages_name_the_release() -> None:
    assert given.STATIC_URL.endswith(f"/static/{RELEASE}/")


def test_this_release_is_kept(ask: Ask) -> None:
    found = ask(f"/static/{RELEASE}/console/a.js")
    assert (found.status_code, found.content, found["Cache-Control"]) == (200, b"first", FOR_GOOD)


@pytest.mark.parametrize("release", ["0123456789abcdef/", ""])
def test_another_one_is_answered_with_this_one_and_not_kept(ask: Ask, release: str) -> None:
    found = ask(f"/static/{release}console/a.js")
    assert (found.status_code, found.content, found["Cache-Control"]) == (200, b"first", "no-cache")


@pytest.mark.parametrize("path", [f"/static/{RELEASE}/console/b.js", "/static/../a.js", "/console/a.js", "/static/"])
def test_what_is_not_there(ask: Ask, path: str) -> None:
    assert ask(path).status_code == 404


def test_what_was_replaced_is_not_kept(ask: Ask, file: Path) -> None:
    """By an upgrade below a running console: it is not what this release had by that address."""
    file.write_text("second!")
    os.utime(file, (1, 1))
    found = ask(f"/static/{RELEASE}/console/a.js")
    assert (found.content, found["Content-Length"], found["Cache-Control"]) == (b"second!", "7", "no-cache")


def test_an_address_without_a_release_is_not_kept_for_good(file: Path, settings: Any) -> None:
    """Of a project that has the console beside its own, or where the console is developed."""
    settings.STATIC_URL, settings.STATIC_ROOT = "/static/", str(file.parents[1])
    settings.WHITENOISE_AUTOREFRESH = settings.WHITENOISE_USE_FINDERS = False
    found = StaticFiles(lambda _: HttpResponse(status=404))(RequestFactory().get("/static/console/a.js"))
    assert (found.status_code, found["Cache-Control"]) == (200, "max-age=60, public")
