"""Run as a program: prints what `up` must know of the settings, so that `up` itself need not load Django."""

from __future__ import annotations

import json
import os
import sys

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from console.config.environment import read_environment

NAMES = ("DATA_DIR", "REDIS_URL", "ZOOKEEPER_URL", "FORCE_SCRIPT_NAME")


def main() -> None:
    """Ends the process with a sentence where the environment is not usable."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.config.settings")
    try:
        read_environment()
        print(json.dumps({name: str(getattr(settings, name) or "") for name in NAMES}))
    except ImproperlyConfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
