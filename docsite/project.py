"""The console as a project without a server: enough to be asked what it has."""

from __future__ import annotations

import functools
import os
import tempfile

import django


@functools.cache
def start() -> None:
    """Call before the first import from `console`."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "console.config.settings"
    os.environ |= {"RMQ_DEBUG": "1", "RMQ_DATA_DIR": tempfile.mkdtemp()}
    django.setup()
