"""One installation for all browser tests, one browser, a signed-in page for each role, and the queue behind it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from rmq_core import RMQ, Topic, TopicKind
from tests.console.browser.contexts import Contexts
from tests.console.conftest import Queue
from tests.console.stack import Stack
from tests.support.chromium import NAMES, chromium
from tests.support.descendants import killed_after
from tests.support.missing import missing

# Nothing that reaches out or needs more shared memory than a container has.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--renderer-process-limit=1",  # of each profile: starting one is a sixth of what a page costs
]
HERE = Path(__file__).parent
LIMIT_S = 1_800
ENDS_S = 60
SETTLES_MS = 5_000
PATIENCE_MS = 60_000
"""The end of every wait: a machine may be busy with other things. Whatever is there sooner is met sooner."""
# Colours are measured, and places pressed: nothing fades or slides meanwhile.
USUAL: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}
expect.set_options(timeout=PATIENCE_MS)
MAKE_PEOPLE = """
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Group, User
from django.contrib.sessions.backends.db import SessionStore
for role in ("Viewer", "Operator", "Editor", "Admin"):
    values = {"is_staff": True, "is_superuser": False, "password": "!"}
    user, _ = User.objects.update_or_create(username=role.lower(), defaults=values)
    user.groups.add(Group.objects.get(name=role))
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    print(user.username, settings.SESSION_COOKIE_NAME, session.session_key)
"""
_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who starts the stack first on a busy machine needs minutes before the test itself begins."""
    for item in items:
        if item.path.parent == HERE and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LIMIT_S))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Function) -> None:
    """Pages close before any fixture takes away what they show."""
    if isinstance(contexts := item.funcargs.get("contexts"), Contexts):
        contexts.close()


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("browser") / "data", "--shared") as stack:
        make_people(stack)
        yield stack


def make_people(stack: Stack) -> None:
    """Somebody of every role who has signed in already: the form and the hashing of passwords take seconds."""
    for line in stack.manage(MAKE_PEOPLE).splitlines():
        who, name, value = line.split()
        stack.cookies[who] = {"name": name, "value": value, "url": stack.address}


# Playwright's loop runs as long as it is open, and asyncio tests of other folders need the thread for themselves.
@pytest.fixture(scope="package")
def running() -> Iterator[Callable[[], Browser]]:
    """Gives the browser that runs; another one where it had to be ended by force."""
    program = chromium()
    if program is None:
        missing("chromium")
    playwright = sync_playwright().start()
    started: list[Browser] = []

    def browser() -> Browser:
        if not started or not started[-1].is_connected():
            started.append(playwright.chromium.launch(executable_path=program, args=ARGUMENTS))
        return started[-1]

    yield browser
    # Chromium does not always end when it is asked to, and Playwright would wait for it without end.
    with killed_after(ENDS_S, *NAMES), suppress(PlaywrightError):
        playwright.stop()


@pytest.fixture
def browser(running: Callable[[], Browser]) -> Browser:
    return running()


@pytest.fixture(scope="package")
def contexts(running: Callable[[], Browser]) -> Contexts:
    """What is open; a test that takes away what a page shows closes it first."""
    return Contexts()


@pytest.fixture
def open_page(stack: Stack, browser: Browser, contexts: Contexts) -> Iterator[Callable[..., Page]]:
    """Opens an address as somebody; the test fails on any error a page reports."""
    problems: list[str] = []

    def open_as(path: str, who: str = "operator", **options: Any) -> Page:
        page = contexts.new_page(browser, stack.address, USUAL | options)
        page.context.add_cookies([stack.cookies[who]])
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(said(message)) if message.type == "error" else None)
        page.problems = problems  # type: ignore[attr-defined]
        page.goto(stack.address + path)
        with suppress(PlaywrightError):  # what comes first moves buttons: whoever presses one just then misses it
            page.wait_for_load_state("networkidle", timeout=SETTLES_MS)
        return page

    yield open_as
    assert not problems, problems


def said(message: ConsoleMessage) -> str:
    return f"{message.text} {message.location.get('url', '')}"


def forgive(page: Page, status: int) -> None:
    """An answer that was meant to be refused is no problem of the page."""
    page.problems[:] = [each for each in page.problems if f"status of {status}" not in each]  # type: ignore[attr-defined]


@pytest.fixture
def queue(stack: Stack) -> Iterator[Queue]:
    with RMQ(stack.redis_url) as client:
        yield Queue(client)


@pytest.fixture
def topic(queue: Queue, contexts: Contexts) -> Iterator[str]:
    """A timed topic of the test's own; others that begin with its name go with it, for those that stay push new ones
    out of sight."""
    name = f"orders-{next(_numbers)}"
    queue.client.define(Topic(name, TopicKind.FIXED_TIME, slots=8, backoff_ms=0, max_retries=0))
    yield name
    contexts.close()
    for each in queue.inspector.topics():
        if each.name == name or each.name.startswith((f"{name}-", f"{name}.")):
            queue.control.delete_topic(each.name, force=True)
