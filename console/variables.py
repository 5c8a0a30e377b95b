"""Names of environment variables, those of today and those from before the prefix. Without Django, for `up`."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "RMQ_"
FORMER = frozenset((
    "ALLOWED_HOSTS", "CONSOLE_REDIS_URL", "CSRF_TRUSTED_ORIGINS", "DATABASE_URL", "DATA_DIR", "DEBUG", "DEMO_RATE",
    "FORCE_SCRIPT_NAME", "HSTS_SECONDS", "HTTPS", "LAG_WARNING_MS", "LOG_LEVEL", "PIPELINE_ARCHIVE",
    "PIPELINE_LEDGERS", "PIPELINE_REPORTS", "RECORD_DAYS", "RECORD_TOPICS", "REDIS_URL", "SAMPLE_INTERVAL_MS",
    "SECRET_KEY", "TIME_ZONE", "ZOOKEEPER_URL",
))  # fmt: skip
"""Names from before the prefix."""
FORMER_END = "0.3"
"""The release that no longer reads them. `docs/how-to/upgrade.md` says so, too."""


def renamed(environ: Mapping[str, str]) -> dict[str, str]:
    """With the former names turned into those of today, which win."""
    kept = {name: value for name, value in environ.items() if name not in FORMER}
    return {PREFIX + name: environ[name] for name in FORMER & environ.keys()} | {n: v for n, v in kept.items() if v}
