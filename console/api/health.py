"""Is the process alive, and can it do its work. The only addresses open without signing in."""

from __future__ import annotations

from typing import Any, Literal

from django.db import DatabaseError, connection
from django.http import HttpRequest
from ninja import Router, Schema, Status

from console.engine import engine
from console.options import options
from console.release import RELEASE
from console.snapshots.store import LiveKeys, read_frame
from console.usecases.same_database import kept_by_another
from rmq_core.errors import RMQError

router = Router()

FRESH_MS = 15_000


class Live(Schema):
    """`release` is another one when other pages are served: a tab that knows a former one has to be reloaded."""

    status: Literal["ok"]
    release: str


class Ready(Schema):
    """`checks` holds "ok" or what is wrong, by name of what was checked."""

    status: Literal["ok", "failing"]
    checks: dict[str, str]


@router.get("/live", response=Live, auth=None, summary="The process answers")
def live(request: HttpRequest) -> dict[str, str]:
    return {"status": "ok", "release": RELEASE}


@router.get("/ready", response={200: Ready, 503: Ready}, auth=None, summary="Database, Redis and sampler work")
def ready(request: HttpRequest) -> Status[Any]:
    checks = {"database": _database(), **_redis_and_keeper()}
    failing = any(value != "ok" for value in checks.values())
    request.own_form = True  # type: ignore[attr-defined]
    return Status(503 if failing else 200, {"status": "failing" if failing else "ok", "checks": checks})


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "does not answer"
    return "ok"


def _redis_and_keeper() -> dict[str, str]:
    try:
        now_ms = engine().inspector.now_ms()
        frame = engine().client.run(read_frame(LiveKeys(options().namespace).overview))
        other = kept_by_another()
    except DatabaseError:
        return {"redis": "ok", "keeper": "unknown"}
    except RMQError as error:
        # The error's own text may name servers; these answers are open to anybody.
        return {"redis": f"does not work: {type(error).__name__}", "keeper": "unknown"}
    if other:
        return {"redis": "ok", "keeper": "belongs to another console, which has another database"}
    fresh = frame is not None and now_ms - frame[0] < FRESH_MS
    return {"redis": "ok", "keeper": "ok" if fresh else "has not sampled lately"}
