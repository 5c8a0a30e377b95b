"""Everything the console reads from the process environment, checked at once: variables that begin with `RMQ_`.

`read_environment()` either returns a frozen `Environment` or raises `ImproperlyConfigured` naming every
variable that is wrong, so that a deployment is corrected in one go instead of one restart per mistake.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from environs import Env, EnvValidationError, ValidationError

from console import rules
from console.options import usual_data_dir
from console.sso.options import Sso
from console.variables import FORMER, FORMER_END, PREFIX, renamed
from rmq_core.model.text import NotText, check_unicode
from rmq_core.transport.redis_url import RedisURL

BASE_DIR = Path(__file__).resolve().parents[2]
IS_CHECKOUT = (BASE_DIR / "manage.py").is_file()
USUAL_REDIS = "redis://127.0.0.1:6379/0"
LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]


@dataclass(frozen=True)
class Environment:
    """Validated settings of one process; durations end in `_ms`. The reference has these texts (`docsite.settings`)."""

    debug: bool
    """Details of errors in the browser, and no secrets needed: for development alone."""
    data_dir: Path
    """The data folder: `var/` in a checkout, else `~/.local/share/rmq-console`."""
    secret_key: str | None
    """50 or more random characters, the same for all processes; `up` makes and keeps one."""
    allowed_hosts: list[str]
    """Host names under which the console is reached."""
    csrf_trusted_origins: list[str]
    """Origins such as `https://console.example.com`, behind a proxy."""
    sub_path: str
    """A sub-path such as `/rmq`."""
    https: bool
    """Redirect to HTTPS, secure cookies, HSTS. On, unless `DEBUG`."""
    hsts_seconds: int
    """How long browsers remember that it is HTTPS."""
    database: dict[str, Any]
    """`postgres://user:password@host/name`, with the extra `postgres`; without it, SQLite in the data folder. No other
    database."""
    redis_url: str
    """Where the queues are. Without it, that in `DATA_DIR/redis_url`, where `up` writes the address of its server."""
    console_redis_url: str
    """For the console's own jobs and live updates; needed when the queues are on a Cluster, else that of the queues."""
    namespace: str
    """First part of every key."""
    time_zone: str
    """Such as `Europe/Berlin`."""
    zookeeper_url: str
    """Where slots get their owners, `host:port,host:port`; `up` starts a ZooKeeper of its own when it is not set."""
    listeners: list[str]
    """What `worker` runs: `package.module:attribute`, several separated by commas."""
    recurring: list[str]
    """Recurring messages that are declared in code, written alike: a `Recurring`, or a list of them."""
    hooks: list[str]
    """What runs around them, written alike; the first is the outermost."""
    trace_link: str
    """Where a message's trace is shown, with `{trace_id}` in it: `https://tempo.example/trace/{trace_id}`."""
    sample_interval_ms: int
    """How often the keeper looks at the queues."""
    lag_warning_ms: int
    """From which lag on a topic is listed as a problem."""
    demo: bool
    """Whether the demo's page of bookings is there; `up --demo` says so."""
    demo_rate: int
    """Messages per second that the demo sends, from 0 to 20000."""
    record_days: int
    """How long transitions, and messages that have ended, stay recorded."""
    run_routes: bool
    """Whether the keeper runs routes; where much is forwarded, `rmq forward` does it in processes of its own."""
    history_max_mib: int
    """What the history of days may hold in the database, in MiB; 0: none is kept."""
    pipeline_archive: str
    """The archive of journals, any path Spark can use; `archive` in the data folder."""
    pipeline_reports: Path
    """Reports of reconciliations, on a disk that the console reads too; `reports` in the data folder."""
    pipeline_ledgers: Path
    """Business ledgers that can be chosen (`*.csv`, `*.parquet`); `ledgers` in the data folder."""
    record_topics: list[str]
    """Topics recorded in the database while their journal is on; patterns such as `order*`, with commas."""
    oidc_issuer: str
    """Single sign-on by OpenID Connect, with the extra `sso`: the provider's address, `https://login.example.com/realms/us`."""
    oidc_client_id: str
    """What the provider calls us."""
    oidc_client_secret: str
    """What it has given us."""
    oidc_name: str
    """Stands on the button of the sign-in page."""
    oidc_scopes: list[str]
    """What we ask it for."""
    oidc_groups_claim: str
    """The claim that holds somebody's groups; `realm_access.roles` is inside of another."""
    oidc_roles: dict[str, str]
    """Groups there and roles here: `queue-admins=Admin,ops=Operator,team-orders=Team orders`."""
    oidc_default_role: str
    """The role of everybody whom it lets in; without it, who has none of `RMQ_OIDC_ROLES` is refused."""
    oidc_renew_ms: int
    """How often it is asked whether somebody is still there, and with which groups."""
    log_level: str
    """DEBUG, INFO, WARNING or ERROR."""

    @property
    def sso(self) -> dict[str, Any] | None:
        """What is said of single sign-on, as `console.sso.options` has it; None where nothing is."""
        said = {name.removeprefix("oidc_"): value for name, value in vars(self).items() if name.startswith("oidc_")}
        return said if said["issuer"] or said["client_id"] or said["client_secret"] else None


def _usual_data_dir(environ: Mapping[str, str]) -> Path:
    """In the checkout; of an installed package, where its user keeps data."""
    return BASE_DIR / "var" if IS_CHECKOUT else usual_data_dir(environ)


def read_environment(environ: Mapping[str, str] | None = None) -> Environment:
    """Read and check the variables; raises `ImproperlyConfigured` with all problems in it."""
    given = os.environ if environ is None else environ
    environ = renamed(given)
    former = sorted(name for name in FORMER if given.get(name) and not given.get(PREFIX + name))
    env = _reader(environ)
    debug = env.bool("RMQ_DEBUG", False)
    data_dir = env.path("RMQ_DATA_DIR", _usual_data_dir(environ))
    values: dict[str, Any] = {
        "secret_key": env.str("RMQ_SECRET_KEY", None, validate=_check(_long_enough)),
        "allowed_hosts": env.list("RMQ_ALLOWED_HOSTS", LOCAL_HOSTS, validate=_check(_hosts)),
        "csrf_trusted_origins": env.list("RMQ_CSRF_TRUSTED_ORIGINS", [], validate=_check(_origins)),
        "sub_path": env.str("RMQ_FORCE_SCRIPT_NAME", "", validate=_check(_sub_path)),
        "https": env.bool("RMQ_HTTPS", None),
        "hsts_seconds": env.int("RMQ_HSTS_SECONDS", 3600, validate=_check(rules.at_least(0))),
        "redis_url": env.str("RMQ_REDIS_URL", _default_redis_url(data_dir), validate=_check(rules.redis)),
        "console_redis_url": env.str("RMQ_CONSOLE_REDIS_URL", None, validate=_check(rules.plain_redis)),
        "namespace": env.str("RMQ_NAMESPACE", "rmq", validate=_check(rules.namespace)),
        "time_zone": env.str("RMQ_TIME_ZONE", "UTC", validate=_check(_time_zone)),
        "zookeeper_url": env.str("RMQ_ZOOKEEPER_URL", "", validate=_check(rules.zookeeper)),
        "listeners": env.list("RMQ_LISTENERS", [], validate=_check(rules.named_objects)),
        "recurring": env.list("RMQ_RECURRING", [], validate=_check(rules.named_objects)),
        "hooks": env.list("RMQ_HOOKS", [], validate=_check(rules.named_objects)),
        "trace_link": env.str("RMQ_TRACE_LINK", "", validate=_check(rules.trace_link)),
        "sample_interval_ms": env.int("RMQ_SAMPLE_INTERVAL_MS", 1000, validate=_check(rules.at_least(200))),
        "lag_warning_ms": env.int("RMQ_LAG_WARNING_MS", 10_000, validate=_check(rules.at_least(1))),
        "demo": env.bool("RMQ_DEMO", False),
        "demo_rate": env.int("RMQ_DEMO_RATE", 300, validate=_check(rules.between(0, 20_000))),
        "pipeline_archive": env.str("RMQ_PIPELINE_ARCHIVE", str(data_dir.resolve() / "archive")),
        "pipeline_reports": env.path("RMQ_PIPELINE_REPORTS", data_dir.resolve() / "reports"),
        "pipeline_ledgers": env.path("RMQ_PIPELINE_LEDGERS", data_dir.resolve() / "ledgers"),
        "history_max_mib": env.int("RMQ_HISTORY_MAX_MIB", 1024, validate=_check(rules.between(0, 1_048_576))),
        "record_days": env.int("RMQ_RECORD_DAYS", 30, validate=_check(rules.between(1, 3_650))),
        "run_routes": env.bool("RMQ_RUN_ROUTES", True),
        "record_topics": env.list("RMQ_RECORD_TOPICS", ["*"]),
        "oidc_issuer": env.str("RMQ_OIDC_ISSUER", ""),
        "oidc_client_id": env.str("RMQ_OIDC_CLIENT_ID", ""),
        "oidc_client_secret": env.str("RMQ_OIDC_CLIENT_SECRET", ""),
        "oidc_name": env.str("RMQ_OIDC_NAME", "single sign-on"),
        "oidc_scopes": env.list("RMQ_OIDC_SCOPES", ["openid", "profile", "email"]),
        "oidc_groups_claim": env.str("RMQ_OIDC_GROUPS_CLAIM", "groups"),
        "oidc_roles": env.list("RMQ_OIDC_ROLES", [], validate=_check(_pairs)),
        "oidc_default_role": env.str("RMQ_OIDC_DEFAULT_ROLE", ""),
        "oidc_renew_ms": env.int("RMQ_OIDC_RENEW_MS", 900_000, validate=_check(rules.at_least(1_000))),
        "log_level": env.str("RMQ_LOG_LEVEL", "INFO", validate=_check(_log_level)),
        "database": env.str("RMQ_DATABASE_URL", None, validate=_check(_database_of)),
    }
    try:
        env.seal()
    except EnvValidationError as error:
        raise ImproperlyConfigured(_explain(error)) from None
    if former:
        words = ", ".join(f"{name} is {PREFIX}{name}" for name in former)
        notice = f"variables have new names, and the former ones end with release {FORMER_END}: {words}"
        warnings.warn(notice, FutureWarning, stacklevel=1)
    if values["https"] is None:
        values["https"] = not debug
    values["sub_path"] = values["sub_path"].rstrip("/")
    values["console_redis_url"] = values["console_redis_url"] or _plain_url(values["redis_url"])
    given_database = _database_of(values["database"]) if values["database"] else {}
    values["database"] = _database(given_database, data_dir.resolve())
    values["oidc_roles"] = dict(_pairs(values["oidc_roles"]))
    found = Environment(debug=debug, data_dir=data_dir.resolve(), **values)
    _check_sso(found)
    return found


def _check_sso(found: Environment) -> None:
    if found.sso is not None:
        try:
            Sso(**found.sso)
        except ValueError as error:
            words = re.sub(r"\b(issuer|client_id|client_secret|scopes|roles|default_role)\b", _variable, str(error))
            raise ImproperlyConfigured(_explain_lines([f"  {words}"])) from None


def _variable(found: re.Match[str]) -> str:
    return f"RMQ_OIDC_{found[0].upper()}"


class _reader(Env):
    """An `Env` over a given mapping which gathers errors until it is sealed; empty means not set."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(eager=False)
        self._environ = dict(environ)

    def _get_value(self, env_key: str, default: Any) -> Any:
        try:
            return check_unicode(self._environ.get(env_key) or "") or default
        except NotText as error:
            self._errors[env_key].append(f"{error}.")
            return default


def _explain(error: EnvValidationError) -> str:
    messages: dict[str, list[str]] = error.error_messages  # type: ignore[assignment]
    lines = [f"  {name}: {' '.join(map(str, texts))}" for name, texts in sorted(messages.items())]
    return _explain_lines(lines)


def _explain_lines(lines: list[str]) -> str:
    return "The environment is not usable; correct these variables and start again:\n" + "\n".join(lines)


def _check(rule: Callable[[Any], object]) -> Callable[[Any], None]:
    """Apply a rule only to values that are there."""

    def validate(value: Any) -> None:
        if value is not None:
            try:
                rule(value)
            except ValueError as error:
                raise ValidationError(str(error)) from None

    return validate


def _long_enough(value: str) -> None:
    if len(value) < 50 or len(set(value)) < 5:
        raise ValueError("must be at least 50 characters of real randomness.")


def _hosts(values: list[str]) -> None:
    for host in values:
        if "://" in host or "/" in host or not host.strip():
            raise ValueError(f"{host!r} is not a host name; give names without scheme or path.")


def _origins(values: list[str]) -> None:
    for origin in values:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path:
            raise ValueError(f"{origin!r} is not an origin such as https://console.example.com.")


def _pairs(values: list[str]) -> list[tuple[str, str]]:
    found = [each.partition("=") for each in values]
    for there, sign, here in found:
        if not (there.strip() and sign and here.strip()):
            raise ValueError(f"{there!r} is not a pair such as ops=Operator: a group there, a role here.")
    return [(there.strip(), here.strip()) for there, _, here in found]


def _sub_path(value: str) -> None:
    if value and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+/?", value):
        raise ValueError("must be a path such as /rmq, or empty.")


def _database_of(url: str) -> dict[str, Any]:
    try:
        parsed = {**dj_database_url.parse(url)}
    except Exception:  # whatever it says may hold the password
        raise ValueError("must be an address such as postgres://user:password@host/name.") from None
    if not str(parsed["ENGINE"]).endswith(("sqlite3", "postgresql", "postgis")):
        raise ValueError(
            "must be PostgreSQL, such as postgres://user:password@host/name, or SQLite: the console keeps its own"
            " tables in no other database."
        )
    return parsed


def _time_zone(value: str) -> None:
    if value not in available_timezones():
        raise ValueError(f"{value!r} is not a time zone such as Europe/Berlin.")
    ZoneInfo(value)


def _log_level(value: str) -> None:
    if value.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise ValueError("must be DEBUG, INFO, WARNING or ERROR.")


def _default_redis_url(data_dir: Path) -> str:
    """The Redis that `up` runs in the same data folder, so that commands beside it find it; else the usual port."""
    try:
        return (data_dir / "redis_url").read_text().strip() or USUAL_REDIS
    except OSError:  # there is none, or the folder is somebody else's, which the settings say next
        return USUAL_REDIS


def _plain_url(redis_url: str) -> str:
    """The URL for the console's own pub/sub and jobs, where the queue's own cannot serve for it."""
    if not RedisURL(redis_url).is_cluster:
        return redis_url
    raise ImproperlyConfigured(
        "The environment is not usable; correct these variables and start again:\n"
        "  RMQ_CONSOLE_REDIS_URL: RMQ_REDIS_URL names a Redis Cluster, which cannot run the console's background"
        " jobs; name a single Redis server here (redis://…) for the console's own data."
    )


def _database(parsed: dict[str, Any], data_dir: Path) -> dict[str, Any]:
    """Django's entry for the database; SQLite is made safe for several processes."""
    if not parsed:
        parsed = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(data_dir / "console.sqlite3")}
    if parsed["ENGINE"].endswith("sqlite3"):
        options = parsed.setdefault("OPTIONS", {})
        options.setdefault("timeout", 20)
        options.setdefault("transaction_mode", "IMMEDIATE")
        options.setdefault("init_command", "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;")
    return parsed
