"""WSGI entry point: pages and API without live sockets; prefer `console.asgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

application = get_wsgi_application()

from console.serving import refuse_unsafe_settings  # noqa: E402

refuse_unsafe_settings()
