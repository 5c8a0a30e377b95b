"""The outbox in a project that has nothing else of the console."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from console.outbox.options import read_options
from rmq_core import RMQ, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from tests.outbox.conftest import Shop
from tests.outbox.test_relay import write
from tests.support.keys import remove_keys_of
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
SETTINGS = """
INSTALLED_APPS = ["console.outbox"]
DATABASES = {name: {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{FOLDER}/{name}.sqlite3"}
             for name in ("default", "shop")}
RMQ_OUTBOX = {"REDIS_URL": REDIS, "NAMESPACE": NAMESPACE, "DATABASES": ["default", "shop"], "FAST_PATH": False}
USE_TZ = True
"""
WORK = """
import sys, django
from django.core.management import call_command
django.setup()
call_command("check", fail_level="WARNING")
from django.db import transaction
from console import outbox
for using in ("default", "shop"):
    call_command("migrate", database=using, verbosity=0)
    with transaction.atomic(using=using):
        outbox.send("mail", f"by {using}", priority=900, using=using)
call_command("outbox", once=True)
with transaction.atomic(using="shop"):
    outbox.send("mail", "for the relay", priority=900, using="shop")
heavy = {"channels", "kazoo", "ninja", "unfold", "rq", "django_rq", "prometheus_client", "uvicorn"}
print(sorted(heavy & {*sys.modules}), [n for n in sys.modules if n.startswith("console.") and "outbox" not in n])
"""


def test_a_project_without_the_console(tmp_path: Path, redis_server: EmbeddedRedis, namespace: str) -> None:
    (tmp_path / "only_outbox.py").write_text(
        f"FOLDER, REDIS, NAMESPACE = {str(tmp_path)!r}, {redis_server.url!r}, {namespace!r}\n{SETTINGS}"
    )
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT}:{tmp_path}",
        "DJANGO_SETTINGS_MODULE": "only_outbox",
    }
    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("mail", TopicKind.PRIORITY, slots=1))
        command = [sys.executable, "-W", "error", "-c", WORK]
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.split("\n")[1:3] == ["sent 2", "[] []"], ran.stdout
        assert {each.text for each in client.take("mail", 5)} == {"by default", "by shop"}

        # A relay takes the rest, and a signal ends it in good order.
        with subprocess.Popen([sys.executable, "-m", "django", "outbox"], env=environ) as relay:
            try:
                wait_until(lambda: client.take("mail", 5), timeout_s=60, what="the relay has sent it")
                relay.send_signal(signal.SIGTERM)
                assert relay.wait(30) == 0
            finally:
                relay.kill()
    with redis_server.client() as raw:
        remove_keys_of(raw, namespace)


def said(*arguments: str, **options: object) -> str:
    out = StringIO()
    call_command("outbox", *arguments, stdout=out, **options)
    return out.getvalue()


def test_rows_are_listed_retried_and_discarded(shop: Shop) -> None:
    one, two = write(shop, "1", topic="unborn") + write(shop, "2", topic="unborn")
    with pytest.raises(CommandError, match="DATABASES of RMQ_OUTBOX"):
        said("retry", "1", "--database", "other")
    shop.configure(PARK_AFTER=1)
    assert "sent 0" in said("--once")
    assert "2 parked" in said("status")
    assert f"  {one}  parked  unborn  UnknownTopic" in said("status")
    (figures,) = json.loads(said("status", "--json"))
    assert (figures["database"], figures["waiting"], figures["parked"]) == (shop.alias, 0, 2)
    for wrong in (["retry"], ["retry", "1", "--all-parked"]):
        with pytest.raises(CommandError, match="by their numbers"):
            said(*wrong, "--database", shop.alias)
    with pytest.raises(CommandError, match="says nothing"):
        said("discard", str(one), "--reason", "\u200b\u2800", "--database", shop.alias)
    assert "discarded: 1" in said("discard", str(one), "--reason", "no such topic", "--database", shop.alias)
    shop.topic("unborn")
    assert "again: 1" in said("retry", "--all-parked", "--topic", "unborn", "--database", shop.alias)
    assert "sent 1" in said("--once")
    assert shop.rows.get(pk=two).state == "sent"


def test_it_says_that_the_queue_is_away(shop: Shop) -> None:
    write(shop, "1")
    shop.configure(REDIS_URL="redis://127.0.0.1:1/0", LEASE_MS=1_000)
    with pytest.raises(CommandError, match="has to wait: the Redis server did not answer"):
        said("--once")
    assert shop.states() == [("waiting", 0)]


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("{}", "REDIS_URL: is not set"),
        ('{"REDIS_URL": "redis://localhost", "BATCH": 0}', "BATCH: must be a whole number from 1 to 10000"),
        ('{"REDIS_URL": "redis://localhost", "DATABASES": ["other"]}', "DATABASES has no other"),
        ('{"REDIS_URL": "redis://localhost", "QUICK": 1}', "QUICK: there is no such key"),
        ('{"REDIS_URL": "http://localhost"}', "REDIS_URL: "),
        ('{"REDIS_URL": "redis://localhost", "FAST_PATH": 1}', "FAST_PATH: must be True or False"),
    ],
)
def test_a_wrong_setting_is_named(setting: str, problem: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=problem):
        read_options(eval(setting), {})
    assert read_options({}, {"REDIS_URL": "redis://localhost", "NAMESPACE": "x"}).namespace == "x"
