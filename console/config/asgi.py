"""ASGI entry point: pages and API through Django, live updates through Channels."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.config.settings")

django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter  # noqa: E402
from django.conf import settings  # noqa: E402

from console.api.handler import Handler  # noqa: E402
from console.config.serving import allow_many_connections, refuse_unsafe_settings, under_sub_path  # noqa: E402
from console.live.routing import websocket_application  # noqa: E402

refuse_unsafe_settings()
allow_many_connections()

application = under_sub_path(
    ProtocolTypeRouter({"http": Handler(), "websocket": websocket_application()}),
    settings.FORCE_SCRIPT_NAME or "",
)
