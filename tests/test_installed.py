"""Installed as README.md, start.md, deploy.md and django.md say, with all that it needs, where no checkout is.

One environment of its own is made by pip, which takes minutes: so this runs in CI, and where somebody names this file.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Self
from urllib.parse import urlencode

import pytest

from rmq_core import FixedTimeMessage, Topic, TopicKind
from tests.console.stack import Stack
from tests.docs.blocks import ROOT, blocks
from tests.support.missing import missing
from tests.support.wheel import build

pytestmark = pytest.mark.timeout(3_600)  # pip's time counts
DOCUMENTS = ("README.md", "docs/start.md", "docs/how-to/deploy.md", "docs/how-to/django.md")
EVERY_PAGE = (ROOT / "tests" / "support" / "every_page.py").read_text()
# What answers something else to who opens it, and why.
NO_PAGES = {
    "console_admin:console_auditentry_add": 403,  # nobody writes the audit by hand
    "console_admin:console_auditentry_delete": 403,
    "console_admin:console_apitoken_delete": 403,  # they are revoked
    # What happened is read.
    **{
        f"console_admin:{name}_{act}": 403
        for name in ("console_operation", "console_reconciliation", "console_messagerecord", "rmq_outbox_outboxmessage")
        for act in ("add", "delete")
    },
    "console_admin:console_topicrevision_add": 403,
    "console_admin:console_topicrevision_delete": 403,
    "console_admin:console_topicscope_delete": 403,  # one by one, and there is none yet
    "console_admin:autocomplete": 403,  # it is asked for a field
    "console_admin:view_on_site": 404,  # no row has a page outside
    "console_admin:logout": 405,  # by a button
}
QUERY = {"console:message": "?id=hello"}


@pytest.fixture(scope="module")
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = any(Path(__file__).name in each for each in request.config.args)
    if os.environ.get("CI") != "true" and not named:
        pytest.skip("it takes minutes: name this file, or set CI=true")
    return build(tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment, in which everything was done that the documents say."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    programs = folder / "bin"
    # What the documents install from an index is the wheel here, and the rest in the versions that were tried.
    told = {line.partition("#")[0].partition("&&")[0] for line in code_of_the_documents() if "pip install" in line}
    assert any("[console,embedded]" in each for each in told)
    for command in sorted(told, key=len):
        arguments = [each.replace("rmq-console", str(wheel)) for each in shlex.split(command)[1:]]
        pip = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "--retries", "1", *arguments]
        # Most modules are never imported here; those that are, compile themselves.
        pip += ["-c", str(ROOT / "constraints.txt"), "--no-compile"]
        ran = subprocess.run(pip, capture_output=True, text=True, check=False)
        if "No matching distribution found" in ran.stderr or "NewConnectionError" in ran.stderr:
            missing(f"an index of packages: {ran.stderr[-300:]}")
        assert ran.returncode == 0, ran.stderr[-2000:]
    return programs


def code_of_the_documents() -> list[str]:
    """Lines of shell that the documents leave to this test."""
    here = f"tests/{Path(__file__).name}"
    return [
        line
        for name in DOCUMENTS
        for block in blocks(ROOT / name)
        if (block.how, block.what) == ("run by", here)
        for line in block.code.splitlines()
    ]


class Installed(Stack):
    """What was installed, started by its own command."""

    def start(self) -> Self:
        self.program = (f"{self._environ['PATH'].partition(':')[0]}/rmq",)
        super().start()
        self.program = (*self.program, "console")
        return self


@pytest.fixture(scope="module")
def stack(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    before = Path.cwd()
    os.chdir("/")
    try:
        with Installed(tmp_path_factory.mktemp("here") / "data", PATH=f"{environment}:/usr/bin:/bin") as running:
            yield running
    finally:
        os.chdir(before)


def test_it_runs_without_the_checkout(stack: Stack, environment: Path) -> None:
    assert "rmq up" in "\n".join(code_of_the_documents())
    assert "every worker takes from every slot, as with --shared" in stack.log
    assert "ERROR" not in stack.log
    assert str(environment.parent) in stack.manage("import console; print(console.__file__)")
    assert all("manage.py" not in command for command in stack.children().values())
    other = "import importlib.util as u; print([n for n in ('pyspark', 'psycopg', 'pytest') if u.find_spec(n)])"
    assert stack.manage(other).strip() == "[]"


def test_every_page_opens(stack: Stack) -> None:
    with stack.client() as client:
        client.define(Topic("orders", TopicKind.FIXED_TIME, slots=2))
        client.send("orders", FixedTimeMessage("hello", 4_102_444_800_000))
    browser = signed_in(stack)
    pages = json.loads(stack.manage(EVERY_PAGE)) | {"docs": "/api/v1/docs", "openapi": "/api/v1/openapi.json"}
    assert len(pages) > 50 and NO_PAGES.keys() <= pages.keys()
    last = {name: pages[name] for name in pages if name.endswith(":logout")}
    wrong = {}
    for name, address in (pages | last).items():
        status = opened(browser, stack.address + address + QUERY.get(name, ""))
        if status != NO_PAGES.get(name, 200):
            wrong[name] = (address, status)
    assert not wrong, stack.log[-2000:]


def signed_in(stack: Stack) -> urllib.request.OpenerDirector:
    """Through the form; what that loads is there."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar := CookieJar()))
    form = f"{stack.address}/admin/login/"
    with browser.open(form) as page:
        text = page.read().decode()
    for path in re.findall(r'(?:href|src)="(/static/[^"]+)"', text):
        assert opened(browser, stack.address + path) == 200, path
    token = next(cookie.value for cookie in jar if cookie.name == "rmq_csrf")
    password = (stack.folder / "admin_password").read_text().strip()
    fields = urlencode({"username": "admin", "password": password, "csrfmiddlewaretoken": token, "next": "/"})
    with browser.open(form, fields.encode()) as answer:
        assert answer.geturl() == f"{stack.address}/"
    return browser


def opened(browser: urllib.request.OpenerDirector, address: str) -> int:
    try:
        with browser.open(address) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
