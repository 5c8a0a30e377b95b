"""The shop of `tests/foreign/shop` with the console in it, run in processes of its own on a real database."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any, Self

from rmq_core import RMQ
from rmq_core.embedded.ports import free_port
from tests.console.sso_desk import Provider, by_oidc
from tests.docs.blocks import blocks
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
EMAIL, PASSWORD = "chief@shop.example", "of the shop"
START_S = 120
PREPARE = """
import json
from datetime import timedelta
from io import StringIO
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.utils import timezone
from console.models import ApiToken
from console.usecases import tokens
from tests.foreign.shop.models import Person

call_command("migrate", verbosity=0)
Person.objects.create_superuser({email!r}, {password!r})
token = ApiToken(name="x", role="Operator", expires_at=timezone.now() + timedelta(days=1))
secret = tokens.give_secret(token)
token.save()
output = StringIO()
call_command("check", fail_level="WARNING", stdout=output)
call_command("makemigrations", "console", check_changes=True, dry_run=True, stdout=output)
groups = [group.name for group in Group.objects.all()]
print(json.dumps(dict(checks=output.getvalue(), groups=groups, token=secret)))
"""
"""All that is done by hand, at once: Django takes seconds to start."""
DOCUMENT = ROOT / "docs" / "how-to" / "django.md"
(_BLOCK,) = [block.code for block in blocks(DOCUMENT) if block.how == "run by" and __file__.endswith(block.what)]
COMMANDS = [
    line.partition("#")[0].replace("python manage.py", "django").replace("yours", "tests.foreign.shop").split()
    for line in _BLOCK.splitlines()
]
"""What the page says that one starts, in terms of our shop."""


class Shop:
    """`with Shop(folder, redis, database, "plain") as shop:` is ready when the block begins, and gone after it."""

    def __init__(self, folder: Path, redis_url: str, database: str, admin: str) -> None:
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.console = f"{self.origin}/tools/rmq/"
        self.redis_url, self.database, self.admin = redis_url, database, admin
        self.provider = Provider(folder, self.console, f"{self.origin}/backoffice/login/")
        roles = {"ops": "RMQ Operator", "lookers": "RMQ Viewer"}
        sso = by_oidc(self.provider) | {"roles": roles}
        self._log = folder / "log"
        self._environ = {
            **{name: value for name, value in os.environ.items() if name in ("PATH", "HOME")},
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "tests.foreign.shop.settings",
            "SHOP_REDIS": redis_url,
            "SHOP_DATABASE": database,
            "SHOP_ADMIN": admin,
            "SHOP_SSO": json.dumps(sso),
            "XDG_DATA_HOME": str(folder),
        }
        self._running: list[subprocess.Popen[bytes]] = []
        self.prepared: dict[str, Any] = {}
        self.cookies = CookieJar()
        self._browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies), _Stay())

    def shell(self, code: str) -> str:
        command = [sys.executable, "-W", "error", "-m", "django", "shell", "-v0", "-c", code]
        options: Any = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": START_S}
        ran = subprocess.run(command, env=self._environ, check=False, **options)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return str(ran.stdout)

    def start(self, *arguments: str) -> None:
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", *arguments]
            self._running.append(subprocess.Popen(command, cwd=ROOT, env=self._environ, stdout=log, stderr=log))

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def __enter__(self) -> Self:
        try:
            self.prepared = json.loads(self.shell(PREPARE.format(email=EMAIL, password=PASSWORD)))
            for command in COMMANDS:
                self.start(
                    *command, *(("--port", str(self.port), "--log-level", "warning") if "uvicorn" in command else ())
                )
            self.provider.wait()
            wait_until(self._ready, timeout_s=START_S, what=f"everything answers; its log:\n{self.log[-3000:]}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.provider.end()
        for each in self._running:
            each.terminate()
        for each in self._running:
            each.wait(START_S)

    def _ready(self) -> bool:
        assert all(each.poll() is None for each in self._running), self.log
        try:
            return self.get(self.console + "api/v1/health/ready")[0] == 200
        except (OSError, urllib.error.URLError):  # it may listen before it has the time to answer
            return False

    def client(self) -> RMQ:
        return RMQ(self.redis_url, "shop")

    def get(self, address: str, **headers: str) -> tuple[int, str]:
        return self._answer(urllib.request.Request(urllib.parse.urljoin(self.console, address), headers=headers))

    def post(self, address: str, body: Any, method: str = "POST", **headers: str) -> tuple[int, str]:
        """JSON of a browser that is signed in."""
        sent = {"Content-Type": "application/json", "X-CSRFToken": self.cookie("csrftoken"), **headers}
        url = urllib.parse.urljoin(self.console, address)
        return self._answer(urllib.request.Request(url, json.dumps(body).encode(), sent, method=method))

    def _answer(self, request: urllib.request.Request) -> tuple[int, str]:
        try:
            with self._browser.open(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers.get("Location") or error.read().decode()

    def cookie(self, name: str) -> str:
        return next((each.value or "" for each in self.cookies if each.name == name), "")

    def sign_in(self) -> None:
        """Through the form to which the console sends whoever is not."""
        status, address = self.get(self.console)
        assert (status, address) == (302, "/backoffice/login/?next=/tools/rmq/")
        form = urllib.parse.urljoin(self.origin, address)
        _, page = self.get(form)
        (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page))
        fields = {"username": EMAIL, "password": PASSWORD, "csrfmiddlewaretoken": token, "next": "/tools/rmq/"}
        body = urllib.parse.urlencode(fields).encode()
        assert self._answer(urllib.request.Request(form, body)) == (302, "/tools/rmq/")


class _Stay(urllib.request.HTTPRedirectHandler):
    """Where one is sent is what a test looks at."""

    def redirect_request(self, *_: Any) -> None:
        return None
