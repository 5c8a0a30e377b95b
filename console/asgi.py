"""ASGI entry point: pages and API through Django, live updates through Channels."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

django_application = get_asgi_application()

from channels.routing import ProtocolTypeRouter  # noqa: E402
from django.conf import settings  # noqa: E402

from console.live.routing import websocket_application  # noqa: E402
from console.serving import refuse_unsafe_settings, under_sub_path  # noqa: E402

refuse_unsafe_settings()

application = under_sub_path(
    ProtocolTypeRouter({"http": django_application, "websocket": websocket_application()}),
    settings.FORCE_SCRIPT_NAME or "",
)
