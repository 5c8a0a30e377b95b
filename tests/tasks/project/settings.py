"""Where its database and its queue are, the environment says."""

import os

import dj_database_url

SECRET_KEY = "of a test"
INSTALLED_APPS = ["console.outbox", "console.tasks", "tests.tasks.project"]
DATABASES = {"default": dj_database_url.parse(os.environ["SHOP_DATABASE"])}
RMQ_OUTBOX = {"REDIS_URL": os.environ["SHOP_REDIS"], "NAMESPACE": os.environ["SHOP_NAMESPACE"]}
TASKS = {
    "default": {
        "BACKEND": "console.tasks.RMQBackend",
        "QUEUES": ["default", "mail"],
        "OPTIONS": {"DATABASE": "default", "VISIBILITY_TIMEOUT_MS": 2_000},
    }
}
USE_TZ = True
