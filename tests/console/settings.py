"""The console's settings for tests: a temporary data folder, no servers until a test names them.

`TEST_DATABASE_URL` runs them on another database than SQLite.
"""

import os
import tempfile
from unittest import mock

_folder = tempfile.TemporaryDirectory(prefix="rmq-console-test-")
_environ = {
    "RMQ_SECRET_KEY": "only-for-tests-0123456789-abcdefghijklmnopqrstuvwxyz",
    "RMQ_DATA_DIR": _folder.name,
    "RMQ_REDIS_URL": "redis://127.0.0.1:1/0",
    "RMQ_HTTPS": "false",
    "RMQ_DEMO": "true",
    "RMQ_ALLOWED_HOSTS": "testserver,localhost,127.0.0.1",
    "PATH": os.environ["PATH"],
}
if _database := os.environ.get("TEST_DATABASE_URL"):
    _environ["RMQ_DATABASE_URL"] = _database

with mock.patch.dict(os.environ, _environ, clear=True):
    from console.config.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Every client of a test sets up the middleware again; listing the static files each time took most of its requests.
WHITENOISE_AUTOREFRESH = True
