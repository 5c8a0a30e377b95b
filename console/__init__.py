"""The web console around `rmq_core`: an app for any Django project, and a project that runs it by itself.

In a project's settings: ``INSTALLED_APPS += console.APPS`` and ``RMQ_CONSOLE = {"REDIS_URL": "redis://…"}``; in its
urls: ``path("rmq/", include("console.urls"))``. See docs/how-to/django.md.
"""

from __future__ import annotations


class _Apps(list[str]):
    """Added to a list, it leaves out what is in there already, such as a project's own Unfold."""

    def __radd__(self, given: list[str]) -> list[str]:
        known = {_package(entry) for entry in given}
        return [*given, *(entry for entry in self if _package(entry) not in known)]


_NINJA = "console.ninja_files.NinjaFiles"


def _package(entry: str) -> str:
    return "ninja" if entry == _NINJA else entry.partition(".apps.")[0]


APPS = _Apps(["console", "console.outbox", "unfold.apps.BasicAppConfig", "unfold.contrib.filters", _NINJA])
"""For `INSTALLED_APPS`: the console, the outbox, Unfold for the frame, Ninja's files for the page about the API."""
