"""How a receiver is reached: a webhook of ours, or whatever Apprise knows (mail, Slack, Teams, PagerDuty, …)."""

from __future__ import annotations

import importlib
import importlib.util
import logging
from typing import Any

from console.alerts import webhook, words
from console.alerts.webhook import NotSent
from console.models import AlertDelivery, AlertReceiver
from console.options import options

NO_APPRISE = "Apprise is not installed here: pip install 'rmq-console[alerts]'"
_TYPES = {"critical": "failure", "warning": "warning", "info": "info"}


def check(receiver: AlertReceiver) -> None:
    """Raises `ValueError`, whose text does not hold the address."""
    if receiver.kind == AlertReceiver.Kind.WEBHOOK:
        webhook.check_address(receiver.address)
        return
    if (apprise := _apprise()) is None:
        raise ValueError(NO_APPRISE)
    if not apprise.Apprise().add(receiver.address):
        raise ValueError("is no address that Apprise knows")


def send(receiver: AlertReceiver, delivery: AlertDelivery) -> None:
    """Raises `NotSent`."""
    alert = delivery.alert
    if receiver.kind == AlertReceiver.Kind.WEBHOOK:
        said = words.body(delivery, options().namespace)
        webhook.post(receiver.address, receiver.secret, said, receiver.private)
        return
    over = delivery.what == AlertDelivery.What.RESOLVED
    kind = "success" if over else _TYPES.get(alert.severity, "info")
    by_apprise(receiver.address, words.title(alert, delivery.what), words.text(alert, delivery.what), kind)


def send_test(receiver: AlertReceiver, username: str) -> None:
    """A message that says it is none. Raises `NotSent`."""
    title = f"Test by {username}: this is not an alert"
    if receiver.kind == AlertReceiver.Kind.WEBHOOK:
        said = {"id": "test", "status": "test", "title": title, "text": title, "namespace": options().namespace}
        webhook.post(receiver.address, receiver.secret, said, receiver.private)
    else:
        by_apprise(receiver.address, title, title, "info")


def by_apprise(address: str, title: str, text: str, kind: str) -> None:
    """Raises `NotSent`."""
    if (apprise := _apprise()) is None:
        raise NotSent(NO_APPRISE)
    service = apprise.Apprise()
    if not service.add(address):
        raise NotSent("Apprise does not know such an address")
    try:
        sent = service.notify(title=title, body=text, notify_type=kind, body_format="text")
    except Exception as error:  # whatever one of its hundred services raises; its text may hold the address
        raise NotSent(f"Apprise could not send it ({type(error).__name__})") from None
    if not sent:
        raise NotSent("Apprise could not send it")


def _apprise() -> Any:
    """The library; None where it is not installed. What it logs may name addresses, so it says nothing."""
    if importlib.util.find_spec("apprise") is None:
        return None
    for name in ("apprise", "requests", "urllib3"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return importlib.import_module("apprise")
