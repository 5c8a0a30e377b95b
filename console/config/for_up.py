"""Run as a program: prints what `up` must know of the settings, so that `up` itself need not load Django."""

from __future__ import annotations

import json
import os
import sys

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from console.config.environment import read_environment


def main() -> None:
    """Ends the process with a sentence where the environment is not usable."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.config.settings")
    try:
        read_environment()
        known = {f"RMQ_{name}": settings.RMQ_CONSOLE[name] for name in ("DATA_DIR", "REDIS_URL", "ZOOKEEPER_URL")}
        known["RMQ_FORCE_SCRIPT_NAME"] = settings.FORCE_SCRIPT_NAME or ""
        print(json.dumps(known, default=str))
    except ImproperlyConfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
