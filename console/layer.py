"""The channel layer that announces new frames: one of the console's own, or one of the project's that is named."""

from __future__ import annotations

from typing import Any

from channels.layers import channel_layers, get_channel_layer
from channels_redis.pubsub import RedisPubSubChannelLayer
from django.core.signals import setting_changed
from django.dispatch import receiver

from console.options import options
from console.redis_urls import channel_layer_host

OWN = "console"


def layer_alias() -> str:
    """Its name for Channels."""
    found = options()
    if found.channel_layer:
        return found.channel_layer
    if OWN not in channel_layers.backends:
        hosts = [channel_layer_host(found.console_redis_url)]
        channel_layers.set(OWN, RedisPubSubChannelLayer(hosts=hosts, prefix=f"{found.namespace}:console:"))
    return OWN


def layer() -> Any:
    return get_channel_layer(layer_alias())


@receiver(setting_changed)
def _forget(setting: str, **kwargs: object) -> None:
    """Tests point the console at other servers."""
    if setting == "RMQ_CONSOLE":
        channel_layers.backends.pop(OWN, None)
