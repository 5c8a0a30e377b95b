"""WSGI entry point: pages and API without live sockets; prefer `console.config.asgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.config.settings")

application = get_wsgi_application()

from console.config.serving import refuse_unsafe_settings  # noqa: E402
from console.database import refuse_unknown_tables  # noqa: E402

refuse_unsafe_settings()
refuse_unknown_tables()
