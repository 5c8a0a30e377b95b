"""Single sign-on for real: a provider, a console that uses it, and a browser; each in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import requests

from console.config.environment import BASE_DIR
from rmq_core.embedded.ports import free_port
from tests.support.oidc_provider import CLIENT, PASSWORD, SECRET
from tests.support.waiting import wait_until

START_S = 120
RENEW_MS = 1_000


class Process:
    """A program that answers at an address, and its log."""

    def __init__(self, log: Path, address: str, *command: str, **environ: str) -> None:
        self.address, self._log = address, log
        known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, *command],
                cwd=BASE_DIR,
                env={**known, "PYTHONPATH": str(BASE_DIR), **environ},
                stdout=out,
                stderr=out,
            )

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def ready(self) -> bool:
        assert self.process.poll() is None, self.log[-3_000:]
        try:
            return requests.get(self.address, timeout=START_S, allow_redirects=False).status_code < 500
        except (requests.ConnectionError, requests.Timeout):
            return False

    def wait(self) -> None:
        wait_until(self.ready, timeout_s=START_S, what=f"{self.address} answers; its log:\n{self.log[-3_000:]}")

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(START_S)


class Provider(Process):
    """Who is there is said by `has`."""

    def __init__(self, folder: Path, console: str, signed_out: str) -> None:
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.issuer = f"{self.origin}/o"
        known = f"{self.issuer}/.well-known/openid-configuration"
        back = f"{console}sso/rmq/login/callback/"
        arguments = ("-m", "tests.support.oidc_provider", str(self.port), back, signed_out)
        super().__init__(folder / "provider.log", known, *arguments)

    def has(self, user: str, *groups: str, active: bool = True) -> None:
        said = json.dumps({"user": user, "groups": groups, "active": active})
        requests.post(f"{self.origin}/control/", said, timeout=30).raise_for_status()

    def asked(self, user: str) -> int:
        """How often the console has asked whether somebody is still there, and was told."""
        found: dict[str, int] = requests.get(f"{self.origin}/control/", timeout=30).json()
        return found.get(user, 0)


class Browser:
    """Follows by hand: where one is sent is what a test looks at."""

    def __init__(self, console: str) -> None:
        self.console = console
        self.session = requests.Session()
        self.way: list[str] = []

    def get(self, address: str) -> requests.Response:
        return self.session.get(urljoin(self.console, address), timeout=30, allow_redirects=False)

    def post(self, address: str, token: str, **fields: str) -> requests.Response:
        place = urljoin(self.console, address)
        fields["csrfmiddlewaretoken"] = token
        return self.session.post(place, fields, headers={"Referer": place}, timeout=30, allow_redirects=False)

    def follow(self, answer: requests.Response) -> requests.Response:
        """Through all that sends one on."""
        while answer.is_redirect:
            place = urljoin(answer.url, answer.headers["Location"])
            self.way.append(place)
            answer = self.get(place)
        return answer

    def sign_in(self, name: str, door: str, password: str = PASSWORD) -> requests.Response:
        """By the button, and the provider's form where it has one."""
        self.way = []
        form = self.follow(self.get(door))
        if "/accounts/login/" not in form.url:
            return form
        (onward,) = re.findall(r'name="next" value="([^"]*)"', form.text)
        fields = {"username": name, "password": password, "next": onward.replace("&amp;", "&")}
        return self.follow(self.post(form.url, token_of(form), **fields))

    def me(self) -> dict[str, Any]:
        return self.get("api/v1/me").json()


def token_of(page: requests.Response) -> str:
    return re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[0]


def by_oidc(provider: Provider) -> dict[str, Any]:
    """What a console is told of it."""
    return {
        "issuer": provider.issuer,
        "client_id": CLIENT,
        "client_secret": SECRET,
        "name": "Example Inc.",
        "groups_claim": "realm_access.roles",
        "roles": {"ops": "Operator", "lookers": "Viewer", "team-orders": "Team orders", "nowhere": "No such role"},
        "renew_ms": RENEW_MS,
    }


PROGRAM = """
import django; django.setup()
from django.contrib.auth.models import Group, User
from django.core.management import call_command
call_command("migrate", verbosity=0)
from console.models import TopicScope
User.objects.create_superuser("ann", password="of the console")
TopicScope.objects.create(group=Group.objects.create(name="Team orders"), patterns="orders")
import uvicorn
uvicorn.run("console.config.asgi:application", port=int(__import__("sys").argv[1]), log_level="warning")
"""


@contextmanager
def console_with(folder: Path, redis_url: str) -> Iterator[tuple[Provider, Process, str]]:
    """The provider, the console, and the console's address."""
    port = free_port()
    console = f"http://127.0.0.1:{port}/"
    provider = Provider(folder, console, f"{console}admin/login/")
    said = by_oidc(provider)
    environ = {f"RMQ_OIDC_{name.upper()}": str(value) for name, value in said.items() if name != "roles"}
    environ["RMQ_OIDC_ROLES"] = ",".join(f"{there}={here}" for there, here in said["roles"].items())
    environ |= {
        "DJANGO_SETTINGS_MODULE": "console.config.settings",
        "RMQ_SECRET_KEY": "only-for-tests-0123456789-abcdefghijklmnopqrstuvwxyz",
        "RMQ_DATA_DIR": str(folder / "data"),
        "RMQ_REDIS_URL": redis_url,
        "RMQ_NAMESPACE": "sso",
        "RMQ_HTTPS": "false",
    }
    running = Process(folder / "console.log", f"{console}admin/login/", "-c", PROGRAM, str(port), **environ)
    try:
        provider.wait()
        running.wait()
        yield provider, running, console
    finally:
        provider.end()
        running.end()
