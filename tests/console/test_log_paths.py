"""No secret of an address gets into the log, whoever starts the server."""

from __future__ import annotations

import http.client
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.config.environment import BASE_DIR
from console.log_paths import LOGGERS, hidden, hide_in_logs
from rmq_core.embedded.ports import free_port
from tests.console.sso_desk import Process

LINK, ENDED, CODE = "l1nk-that-opens-a-screen", "l1nk-that-was-revoked", "c0de-of-single-sign-on"
PREPARE = f"""
import django; django.setup()
from datetime import timedelta
from django.core.management import call_command
from django.utils import timezone
call_command("migrate", verbosity=0)
from console.models import Screen
from console.usecases.screens import digest_of
until = timezone.now() + timedelta(days=1)
Screen.objects.create(name="wall", panels="figures", digest=digest_of({LINK!r}), link_until=until)
"""
ENVIRON = {
    "DJANGO_SETTINGS_MODULE": "console.config.settings",
    "RMQ_SECRET_KEY": "only-for-tests-0123456789-abcdefghijklmnopqrstuvwxyz",
    "RMQ_REDIS_URL": "redis://127.0.0.1:1/0",
    "RMQ_HTTPS": "false",
}
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, int]]:
    """Plain uvicorn, with its own log of addresses."""
    folder, port = tmp_path_factory.mktemp("plain"), free_port()
    environ = ENVIRON | {"RMQ_DATA_DIR": str(folder / "data")}
    given = environ | {"PYTHONPATH": str(BASE_DIR)}
    subprocess.run([sys.executable, "-c", PREPARE], cwd=BASE_DIR, env=given, check=True, timeout=120)
    plain = ("-m", "uvicorn", "console.config.asgi:application", "--port", str(port))
    running = Process(Path(folder, "log"), f"http://127.0.0.1:{port}/admin/login/", *plain, **environ)
    try:
        running.wait()
        yield running, port
    finally:
        running.end()


def test_plain_uvicorn_tells_no_secret(server: tuple[Process, int]) -> None:
    running, port = server
    asked: tuple[tuple[str, int, dict[str, str]], ...] = (
        (f"/screens/{LINK}/", 200, {}),
        (f"/screens/{LINK}", 301, {}),
        (f"/screens/{ENDED}/", 404, {}),
        (f"/api/v1/links/screens/{ENDED}", 404, {}),
        (f"/sso/rmq/login/callback/?code={CODE}&state=x", 404, {}),
        (f"/live/nothing/?code={CODE}", 403, UPGRADE),
    )
    for path, status, headers in asked:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", path, headers=headers)
        assert connection.getresponse().status == status, path
        connection.close()
    running.end()
    log = running.log
    assert not [secret for secret in (LINK, ENDED, CODE) if secret in log], log
    assert '"GET /screens/…/ HTTP/1.1" 200' in log
    assert "Not Found: /screens/…/" in log and "Not Found: /api/v1/links/screens/…" in log
    assert '"GET /sso/rmq/login/callback/?… HTTP/1.1" 404' in log and '"WebSocket /live/nothing/?…" 403' in log


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("/rmq/screens/s3cret/", "/rmq/screens/…/"),
        ("GET /screens//s3cret?x=1 HTTP/1.1", "GET /screens//…?… HTTP/1.1"),
        ("/screens/of/wall/", "/screens/of/wall/"),
        ("/api/v1/screens/wall/data", "/api/v1/screens/…"),
        ("/api/v1/screens/s3cret", "/api/v1/screens/…"),
        ("/SCREENS/s3cret/", "/SCREENS/…/"),
        ("GET /%73cree%4Es%2Fs3cret/ HTTP/1.1", "GET /%73cree%4Es%2F…/ HTTP/1.1"),
        ("/screens%252Fs3cret", "/screens%252F…"),
        ("/a//screens///s3cret", "/a//screens///…"),
        ("/screens/s3'c\"re t\ns3cret/s3cret/", "/screens/…/"),
        ("Not Found: /screens/a s3cret HTTP/1.1 s3cret", "Not Found: /screens/…"),
        ("/screens/off/", "/screens/…/"),
        ("/sso/?code=a'b s3cret\"s3cret", "/sso/?…"),
        ("/sso/%3Fcode=s3cret", "/sso/%3F…"),
        ("/sso/%253Fcode=s3cret&x=?s3cret", "/sso/%253F…"),
        ("GET /sso/?code=a'b HTTP/1.1 s3cret HTTP/1.1", "GET /sso/?… HTTP/1.1"),
        ('"GET /screens/s3cret?s3cret HTTP/1.1" 404 12', '"GET /screens/…?… HTTP/1.1" 404 12'),
        (
            "Referer checking failed - https://a/screens/s3cret does not match.",
            "Referer checking failed - https://a/screens/…",
        ),
        ("/api/v1/topics/orders/messages:search?text=4111", "/api/v1/topics/orders/messages:search?…"),
        ("why? because", "why? because"),
    ],
)
def test_what_is_kept_of_an_address(said: str, kept: str) -> None:
    assert hidden(said) == kept


@pytest.mark.parametrize("name", LOGGERS)
def test_each_of_these_loggers_hides_it_once(name: str, caplog: pytest.LogCaptureFixture) -> None:
    hide_in_logs()
    log = logging.getLogger(name)
    assert [each.__module__ for each in log.filters if callable(each)].count("console.log_paths") == 1
    log.addHandler(caplog.handler)
    try:
        log.error("%s %s: 100%%", "GET", "/screens/s3cret/?x=s3cret")
        log.error("Not Found: /screens/s3cret/")
    finally:
        log.removeHandler(caplog.handler)
    assert {each.getMessage() for each in caplog.records} == {"GET /screens/…/?…: 100%", "Not Found: /screens/…/"}
