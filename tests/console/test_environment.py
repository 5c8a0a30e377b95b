"""Settings come from the environment; everything wrong is said at once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from packaging.version import Version
from redis.sentinel import SentinelManagedSSLConnection

import rmq_core
from console.config.environment import BASE_DIR, Environment, read_environment
from console.redis_urls import channel_layer_host, job_connection
from console.variables import FORMER, FORMER_END, renamed
from tests.support.rmq_command import manage

KEY = "0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def read(**values: str) -> Environment:
    return read_environment(values)


def test_nothing_set_is_a_safe_production_console_on_this_machine() -> None:
    found = read()
    assert (found.debug, found.https, found.namespace) == (False, True, "rmq")
    assert found.allowed_hosts == ["localhost", "127.0.0.1", "[::1]"]
    assert found.data_dir == BASE_DIR / "var"
    assert found.database["ENGINE"] == "django.db.backends.sqlite3"
    assert "WAL" in found.database["OPTIONS"]["init_command"]
    assert found.database["OPTIONS"]["timeout"] >= 5


def test_an_empty_variable_counts_as_not_set() -> None:
    assert read(RMQ_REDIS_URL="", RMQ_SECRET_KEY="", RMQ_DATABASE_URL="", RMQ_ALLOWED_HOSTS="") == read()


def test_https_is_on_unless_debugging_or_switched_off() -> None:
    assert read(RMQ_DEBUG="1").https is False
    assert read(RMQ_HTTPS="0").https is False
    assert read(RMQ_DEBUG="1", RMQ_HTTPS="1").https is True


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RMQ_DEBUG", "perhaps"),
        ("RMQ_SECRET_KEY", "short"),
        ("RMQ_SECRET_KEY", "a" * 60),
        ("RMQ_ALLOWED_HOSTS", "https://console.example.com"),
        ("RMQ_CSRF_TRUSTED_ORIGINS", "console.example.com"),
        ("RMQ_FORCE_SCRIPT_NAME", "rmq"),
        ("RMQ_FORCE_SCRIPT_NAME", "/a b"),
        ("RMQ_HSTS_SECONDS", "-1"),
        ("RMQ_REDIS_URL", "localhost:6379"),
        ("RMQ_REDIS_URL", "http://localhost"),
        ("RMQ_REDIS_URL", "sentinel://a:port/main"),
        ("RMQ_REDIS_URL", "cluster://[::1:7000"),
        ("RMQ_CONSOLE_REDIS_URL", "cluster://a:1"),
        ("RMQ_NAMESPACE", "9lives"),
        ("RMQ_NAMESPACE", "a:b"),
        ("RMQ_TIME_ZONE", "Mars/Olympus"),
        ("RMQ_LISTENERS", "module.attribute"),
        ("RMQ_SAMPLE_INTERVAL_MS", "10"),
        ("RMQ_LAG_WARNING_MS", "soon"),
        ("RMQ_LOG_LEVEL", "LOUD"),
        ("RMQ_DATABASE_URL", "nonsense"),
    ],
)
def test_a_bad_value_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=name):
        read(**{name: value})


@pytest.mark.parametrize(
    "value",
    [
        "nonsense",
        "nonsense://u:hidden@h/x",
        "postgres://u:hidden@h:port/x",
        "postgres://\udcff",
        "mysql://u:hidden@h/x",
        "oracle://u:hidden@h/x",
    ],
)
def test_a_database_that_can_be_none_is_told_once_and_keeps_its_password(value: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        read(RMQ_DATABASE_URL=value)
    (told,) = str(caught.value).splitlines()[1:]
    assert told.startswith("  RMQ_DATABASE_URL: ")
    assert "not set" not in told and "hidden" not in told and told.count(".") == 1


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        read(RMQ_DEBUG="perhaps", RMQ_TIME_ZONE="Nowhere", RMQ_REDIS_URL="x")
    assert all(name in str(caught.value) for name in ("RMQ_DEBUG", "RMQ_TIME_ZONE", "RMQ_REDIS_URL"))


def test_a_cluster_needs_a_plain_redis_for_the_console() -> None:
    with pytest.raises(ImproperlyConfigured, match="RMQ_CONSOLE_REDIS_URL"):
        read(RMQ_REDIS_URL="cluster://a:7000,b:7000")
    found = read(RMQ_REDIS_URL="cluster://a:7000", RMQ_CONSOLE_REDIS_URL="redis://c:6379/1")
    assert found.console_redis_url == "redis://c:6379/1"


def test_postgresql_and_a_sub_path() -> None:
    found = read(RMQ_DATABASE_URL="postgres://u:p@db:5432/rmq", RMQ_FORCE_SCRIPT_NAME="/tools/rmq/")
    assert found.database["ENGINE"] == "django.db.backends.postgresql"
    assert found.sub_path == "/tools/rmq"


def test_sentinel_urls_reach_channels_and_rq() -> None:
    url = "sentinel://user:p%40ss@s1:26379,s2:26380/main/3"
    layer = channel_layer_host(url)
    assert layer["sentinels"] == [("s1", 26379), ("s2", 26380)]
    assert (layer["master_name"], layer["db"], layer["password"]) == ("main", 3, "p@ss")
    pool = job_connection(url).connection_pool
    assert (pool.service_name, pool.connection_kwargs["db"], pool.connection_kwargs["username"]) == ("main", 3, "user")
    assert job_connection("redis://a:7/0").connection_pool.connection_kwargs["port"] == 7


def test_sentinels_may_have_ipv6_addresses_and_tls() -> None:
    url = "sentinel://[2001:db8::1]:26379,[2001:db8::2]:26380,s3:26379/main?ssl=true"
    hosts = [("2001:db8::1", 26379), ("2001:db8::2", 26380), ("s3", 26379)]
    assert read(RMQ_REDIS_URL=url).console_redis_url == url
    layer, jobs = channel_layer_host(url), job_connection(url).connection_pool
    asked = [each.connection_pool.connection_kwargs for each in jobs.sentinel_manager.sentinels]
    assert layer["sentinels"] == [(each["host"], each["port"]) for each in asked] == hosts
    assert layer["ssl"] is True and jobs.connection_class is SentinelManagedSSLConnection


def test_the_options_of_a_sentinel_url_reach_channels_and_the_jobs() -> None:
    url = "sentinel://:servers@a:1/main?ssl=true&ssl_ca_certs=/ca&sentinel_password=own&sentinel_ssl_ca_certs=/other"
    layer, jobs = channel_layer_host(url), job_connection(url).connection_pool
    own = {"ssl": True, "ssl_ca_certs": "/other", "password": "own"}
    assert layer["sentinel_kwargs"] == jobs.sentinel_manager.sentinel_kwargs == own
    assert (layer["password"], layer["ssl_ca_certs"]) == ("servers", "/ca")
    assert (jobs.connection_kwargs["password"], jobs.connection_kwargs["ssl_ca_certs"]) == ("servers", "/ca")


def test_the_command_line_says_what_is_wrong_without_a_stack_trace(tmp_path: Path) -> None:
    ended = manage("check", RMQ_DATA_DIR=str(tmp_path), RMQ_TIME_ZONE="Nowhere")
    assert ended.returncode == 1
    assert "RMQ_TIME_ZONE" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_defaults_pass_the_deployment_check_but_for_the_key(tmp_path: Path) -> None:
    ended = manage("check", "--deploy", "--fail-level", "WARNING", RMQ_DATA_DIR=str(tmp_path), RMQ_SECRET_KEY=KEY)
    assert ended.returncode == 0, ended.stderr
    without = manage("check", "--deploy", RMQ_DATA_DIR=str(tmp_path))
    assert without.returncode == 1
    assert "console.E001" in without.stderr


def test_a_server_without_a_key_refuses_to_start(tmp_path: Path) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "RMQ_DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "console.config.settings",
    }
    for module in ("asgi", "wsgi"):
        command = [sys.executable, "-c", f"import console.config.{module}"]
        ended = subprocess.run(command, env=environ, cwd=BASE_DIR, capture_output=True, text=True, check=False)
        assert "RMQ_SECRET_KEY is not set" in ended.stderr


FORMERLY = {
    "ALLOWED_HOSTS": "a.example",
    "CONSOLE_REDIS_URL": "redis://c:6379/1",
    "CSRF_TRUSTED_ORIGINS": "https://a.example",
    "DATABASE_URL": "postgres://u:p@db:5432/rmq",
    "DATA_DIR": "/tmp/elsewhere",
    "DEBUG": "1",
    "DEMO_RATE": "7",
    "FORCE_SCRIPT_NAME": "/tools",
    "HSTS_SECONDS": "60",
    "HTTPS": "0",
    "LAG_WARNING_MS": "5",
    "LOG_LEVEL": "DEBUG",
    "PIPELINE_ARCHIVE": "/tmp/a",
    "PIPELINE_LEDGERS": "/tmp/l",
    "PIPELINE_REPORTS": "/tmp/r",
    "RECORD_DAYS": "3",
    "RECORD_TOPICS": "order*",
    "REDIS_URL": "redis://r:6379/0",
    "SAMPLE_INTERVAL_MS": "500",
    "SECRET_KEY": KEY,
    "TIME_ZONE": "Europe/Berlin",
    "ZOOKEEPER_URL": "z:2181",
}


def test_every_former_name_is_walked_below() -> None:
    assert set(FORMERLY) == FORMER


@pytest.mark.parametrize(("name", "value"), FORMERLY.items())
def test_a_former_name_works_and_says_the_new_one(name: str, value: str) -> None:
    with pytest.warns(FutureWarning, match=rf"\b{name} is RMQ_{name}\b"):
        found = read(**{name: value})
    assert found == read(**{f"RMQ_{name}": value}) != read()


def test_the_notice_says_which_release_ends_the_former_names() -> None:
    with pytest.warns(FutureWarning, match=rf"end with release {re.escape(FORMER_END)}: HTTPS is RMQ_HTTPS\b"):
        read(HTTPS="0")
    assert f"until\n  release {FORMER_END}, also" in (BASE_DIR / "docs/how-to/upgrade.md").read_text()
    assert Version(rmq_core.__version__) < Version(FORMER_END), "this release must no longer read them"


def test_the_new_name_wins_without_a_word() -> None:
    assert read(TIME_ZONE="Mars/Olympus", RMQ_TIME_ZONE="Europe/Berlin").time_zone == "Europe/Berlin"


def test_children_of_up_get_the_new_names() -> None:
    given = {"PATH": "/bin", "REDIS_URL": "redis://old:1", "HTTPS": "0", "RMQ_HTTPS": "1", "RMQ_DEBUG": ""}
    assert renamed(given) == {"PATH": "/bin", "RMQ_REDIS_URL": "redis://old:1", "RMQ_HTTPS": "1"}


def test_the_settings_and_the_job_worker_answer_to_their_former_names(tmp_path: Path) -> None:
    checked = manage("check", RMQ_DATA_DIR=str(tmp_path), DJANGO_SETTINGS_MODULE="console.settings")
    assert (checked.returncode, "is now console.config.settings" in checked.stderr) == (0, True), checked.stderr
    asked = manage("rqworker", "mail", RMQ_DATA_DIR=str(tmp_path))
    assert "there is no job queue mail: there are default and pipeline" in asked.stderr
