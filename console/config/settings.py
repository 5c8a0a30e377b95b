"""Django settings, computed from the environment (see `console.config.environment`)."""

from __future__ import annotations

import os
import secrets
from datetime import timedelta
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.log import CallbackFilter

from console.config.environment import BASE_DIR, read_environment
from console.release import RELEASE
from console.sso import options as sso
from rmq_core.errors import EmbeddedServerError
from rmq_core.private_files import OTHERS, private_folder

ENVIRONMENT = read_environment()

DEBUG = ENVIRONMENT.debug
DATA_DIR = ENVIRONMENT.data_dir
# What messages say and what opens doors is in there: nothing that our processes make is anybody else's.
os.umask(os.umask(OTHERS) | OTHERS)
_kept_there = (
    *("secret_key", "admin_password", "up.lock", "redis_url", "redis_port", "zookeeper_port", "redis", "zookeeper"),
    *(f"console.sqlite3{ending}" for ending in ("", "-wal", "-shm", "-journal")),
    *("archive", "reports", "ledgers", "static"),
)
try:
    private_folder(DATA_DIR, ours=_kept_there)
except EmbeddedServerError as error:
    raise ImproperlyConfigured(f"RMQ_DATA_DIR: {error}") from None

_secret_file = DATA_DIR / "secret_key"
_stored_secret = _secret_file.read_text().strip() if _secret_file.is_file() else None
SECRET_KEY = ENVIRONMENT.secret_key or _stored_secret or secrets.token_urlsafe(64)
# A key made up for this process is fine for commands; servers and the deployment check refuse it.
SECRET_KEY_IS_TEMPORARY = not (ENVIRONMENT.secret_key or _stored_secret)

ALLOWED_HOSTS = ENVIRONMENT.allowed_hosts
CSRF_TRUSTED_ORIGINS = ENVIRONMENT.csrf_trusted_origins
FORCE_SCRIPT_NAME = ENVIRONMENT.sub_path or None
_cookie_path = f"{ENVIRONMENT.sub_path}/"

INSTALLED_APPS = [
    "console.config.apps.ProjectConfig",
    "console.apps.ConsoleConfig",
    "console.outbox.apps.OutboxConfig",
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "console.config.apps.LateAdmin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "django_rq",
    "console.ninja_files.NinjaFiles",
]
RQ_SHOW_ADMIN_LINK = False

MIDDLEWARE = [
    "console.config.middleware.refusals_of_the_api",
    "django.middleware.security.SecurityMiddleware",
    "console.config.middleware.content_security_policy",
    "console.config.staticfiles.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "console.config.urls"
ASGI_APPLICATION = "console.config.asgi.application"
WSGI_APPLICATION = "console.config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": ENVIRONMENT.database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# Who guesses passwords has to wait: see console/config/signin.py.
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AXES_HANDLER = "console.config.signin.Brake"
AXES_LOCKOUT_CALLABLE = "console.config.signin.refused"
AXES_USERNAME_CALLABLE = "console.config.signin.name_of"
AXES_CLIENT_IP_CALLABLE = "console.config.signin.address_of"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_ENABLE_ADMIN = False
LOGIN_URL = "console_admin:login"
LOGIN_REDIRECT_URL = "console:overview"

RMQ_CONSOLE = {
    "REDIS_URL": ENVIRONMENT.redis_url,
    "CONSOLE_REDIS_URL": ENVIRONMENT.console_redis_url,
    "NAMESPACE": ENVIRONMENT.namespace,
    "ZOOKEEPER_URL": ENVIRONMENT.zookeeper_url,
    "LISTENERS": ENVIRONMENT.listeners,
    "RECURRING": ENVIRONMENT.recurring,
    "HOOKS": ENVIRONMENT.hooks,
    "TRACE_LINK": ENVIRONMENT.trace_link,
    "SAMPLE_INTERVAL_MS": ENVIRONMENT.sample_interval_ms,
    "LAG_WARNING_MS": ENVIRONMENT.lag_warning_ms,
    "RECORD_TOPICS": ENVIRONMENT.record_topics,
    "RECORD_DAYS": ENVIRONMENT.record_days,
    "RUN_ROUTES": ENVIRONMENT.run_routes,
    "HISTORY_MAX_MIB": ENVIRONMENT.history_max_mib,
    "DATA_DIR": DATA_DIR,
    "PIPELINE_ARCHIVE": ENVIRONMENT.pipeline_archive,
    "PIPELINE_REPORTS": ENVIRONMENT.pipeline_reports,
    "PIPELINE_LEDGERS": ENVIRONMENT.pipeline_ledgers,
}
DEMO_RATE = ENVIRONMENT.demo_rate
if ENVIRONMENT.demo:
    INSTALLED_APPS.append("console.demo.bookings.apps.BookingsConfig")
    _TRACING = "console.demo.bookings.tracing:hooks"
    RMQ_CONSOLE["HOOKS"] = [*ENVIRONMENT.hooks, _TRACING]
    RMQ_OUTBOX = {"HOOKS": [_TRACING]}

if ENVIRONMENT.sso:
    globals().update(sso.django_settings(ENVIRONMENT.sso))
    INSTALLED_APPS += sso.APPS
    MIDDLEWARE += sso.MIDDLEWARE
    AUTHENTICATION_BACKENDS += sso.BACKENDS

CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "console" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = ENVIRONMENT.time_zone
LANGUAGE_COOKIE_PATH = _cookie_path

# Whoever develops the console changes files of one release.
_static = "static" if DEBUG else f"static/{RELEASE}"
STATIC_URL = f"{ENVIRONMENT.sub_path}/{_static}/"
STATIC_ROOT = DATA_DIR / _static
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False

# Secure unless HTTPS is switched off on purpose (plain HTTP on one's own machine).
SECURE_SSL_REDIRECT = ENVIRONMENT.https
SECURE_REDIRECT_EXEMPT = [r"^api/v1/health/"]
SECURE_HSTS_SECONDS = ENVIRONMENT.hsts_seconds if ENVIRONMENT.https else 0
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = ENVIRONMENT.https
CSRF_FAILURE_VIEW = "console.pages.shell.stale_form"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME, LANGUAGE_COOKIE_NAME = "rmq_session", "rmq_csrf", "rmq_language"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = _cookie_path
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_SAVE_EVERY_REQUEST = False
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1_048_576
# Whether subdomains must use HTTPS too, and browsers preload that, is the domain owner's decision.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]


def _is_no_probe(record: Any) -> bool:
    """Whoever asks how things are is told by the answer."""
    return "/health/" not in record.getMessage()


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(levelname)s %(name)s: %(message)s"}},
    "filters": {"probes": {"()": CallbackFilter, "callback": _is_no_probe}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": ENVIRONMENT.log_level.upper()},
    "loggers": {
        "django.request": {"filters": ["probes"]},
        "channels_redis": {"filters": [], "level": "CRITICAL"},
        "rq.worker": {"level": "WARNING"},
        "axes": {"level": "ERROR"},  # console.config.signin says it, with what may be said
    },
}
