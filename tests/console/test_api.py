"""Health, and documentation that needs no network."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.test import Client

from console.options import options
from console.release import RELEASE
from console.snapshots.store import LiveKeys, write_frames
from tests.console.conftest import Queue
from tests.support.console_options import set_options


def test_live_needs_nothing(client: Client, db: None) -> None:
    assert client.get("/api/v1/health/live").json() == {"status": "ok", "release": RELEASE}


def test_ready_names_what_is_wrong(client: Client, db: None, settings: Any) -> None:
    set_options(settings, REDIS_URL="redis://127.0.0.1:1/0")
    answer = client.get("/api/v1/health/ready")
    assert answer.status_code == 503
    checks = answer.json()["checks"]
    assert checks["database"] == "ok"
    assert "ConnectionLost" in checks["redis"]
    assert "127.0.0.1" not in answer.content.decode()


FRAME = '{"type":"overview"}'


def test_ready_needs_a_fresh_sample(queue: Queue, client: Client, db: None, settings: Any) -> None:
    keys = LiveKeys(options().namespace)
    assert client.get("/api/v1/health/ready").json()["checks"]["keeper"] != "ok"
    now = queue.inspector.now_ms()
    queue.client.run(write_frames({keys.overview: FRAME}, now - 60_000))
    assert client.get("/api/v1/health/ready").status_code == 503
    queue.client.run(write_frames({keys.overview: FRAME}, now))
    assert client.get("/api/v1/health/ready").json()["status"] == "ok"


def test_the_documentation_loads_nothing_from_elsewhere(queue: Queue, as_role: Callable[..., Client]) -> None:
    client = as_role("Viewer")
    page = client.get("/api/v1/docs").content.decode()
    links = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert links and all(link.startswith(("/", "data:")) for link in links)
    for link in links:
        assert client.get(link).status_code == 200, link
    assert '"validatorUrl": null' in page  # else it shows a picture from a server in the internet
    assert client.get("/api/v1/openapi.json").json()["info"]["title"] == "RMQ Console"
