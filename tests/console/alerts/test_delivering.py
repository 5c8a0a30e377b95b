"""What is to be told arrives: signed, tried again, marked only then; and what a webhook may do to us."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.db import OperationalError

from console.alerts import channels, delivering, webhook
from console.alerts.webhook import NotSent
from console.models import Alert, AlertDelivery, AlertReceiver
from tests.docs.blocks import ROOT, blocks

SECRET = "hush-hush"
NOW_MS = 1_700_000_000_000
db = pytest.mark.django_db


class Hook:
    """A webhook that answers what it is told, in order; the last answer for ever."""

    def __init__(self) -> None:
        self.answers: list[int | str] = [200]
        self.got: list[tuple[dict[str, str], bytes]] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = hook.answers.pop(0) if len(hook.answers) > 1 else hook.answers[0]
                hook.got.append((dict(self.headers), body))
                if answer == "hang":
                    hook.end.wait(60)
                    return
                self.send_response(302 if isinstance(answer, str) else answer)
                if isinstance(answer, str):
                    self.send_header("Location", answer)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        self.end = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/t0ken-in-the-path"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.end.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def hook() -> Iterator[Hook]:
    found = Hook()
    yield found
    found.close()


def told(address: str, what: str = "firing", **about: Any) -> AlertDelivery:
    given = {"kind": "webhook", "secret": SECRET, "private": True} | about
    receiver, _ = AlertReceiver.objects.get_or_create(name="ops", defaults={"address": address, **given})
    alert, _ = Alert.objects.get_or_create(
        name="lag", topic="orders", defaults={"severity": "critical", "began_ms": 1, "seen_ms": 1}
    )
    row: AlertDelivery = AlertDelivery.objects.create(alert=alert, receiver=receiver, what=what, next_ms=0)
    return row


def round_at(now_ms: int) -> None:
    for some in delivering.due(now_ms).values():
        delivering.deliver(some, lambda: now_ms)


@db
def test_signed_and_marked_after_it_arrived(hook: Hook) -> None:
    row = told(hook.address)
    round_at(NOW_MS)
    row.refresh_from_db()
    assert (row.state, row.sent_ms, row.tries) == ("sent", NOW_MS, 1)
    ((headers, body),) = hook.got
    signed = headers["X-RMQ-Timestamp"].encode() + b"." + body
    assert headers["X-RMQ-Signature"] == "sha256=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    said = json.loads(body)
    assert (said["id"], said["status"], said["topic"]) == (str(row.pk), "firing", "orders")
    assert said["title"] == "FIRING critical: lag (orders)"
    (shown,) = [each.code for each in blocks(ROOT / "docs/how-to/alerts.md") if each.language == "json"]
    assert said.keys() == json.loads(shown).keys()


@db
def test_500_then_200_with_longer_and_longer_pauses(hook: Hook, caplog: pytest.LogCaptureFixture) -> None:
    hook.answers = [500, 500, 200]
    first, last = told(hook.address), told(hook.address, "resolved")
    round_at(NOW_MS)
    first.refresh_from_db()
    assert (first.state, first.error) == ("waiting", "the answer was 500")
    assert first.next_ms == NOW_MS + delivering.FIRST_MS
    round_at(NOW_MS + 1)
    assert len(hook.got) == 1  # not yet; and that it is over is not said before that it fired
    round_at(NOW_MS + 5_000)
    first.refresh_from_db()
    assert first.next_ms == NOW_MS + 5_000 + 2 * delivering.FIRST_MS
    round_at(NOW_MS + 20_000)
    round_at(NOW_MS + 20_000)
    assert [json.loads(body)["status"] for _, body in hook.got] == ["firing", "firing", "firing", "resolved"]
    assert {json.loads(body)["id"] for _, body in hook.got[:3]} == {str(first.pk)}
    last.refresh_from_db()
    assert last.state == "sent"
    assert "ops" in caplog.text and "t0ken" not in caplog.text and SECRET not in caplog.text


@db
def test_a_receiver_that_has_many_waiting_keeps_no_other_waiting(hook: Hook) -> None:
    dead = told("http://127.0.0.1:9/").receiver
    alerts = Alert.objects.bulk_create(
        [Alert(name="lag", topic=f"t{n}", severity="critical", began_ms=1, seen_ms=1) for n in range(600)]
    )
    AlertDelivery.objects.bulk_create(
        [AlertDelivery(alert=each, receiver=dead, what="firing", next_ms=0) for each in alerts]
    )
    other = AlertReceiver.objects.create(name="other", address=hook.address, private=True)
    AlertDelivery.objects.create(alert=alerts[-1], receiver=other, what="firing", next_ms=0)
    assert {each: len(some) for each, some in delivering.due(NOW_MS).items()} == {
        dead.pk: delivering.AT_ONCE,
        other.pk: 1,
    }


@db
def test_what_a_clock_that_was_ahead_has_put_off_is_sent_now(hook: Hook) -> None:
    row = told("http://127.0.0.1:9/")
    round_at(NOW_MS + 86_400_000)
    AlertReceiver.objects.update(address=hook.address)
    round_at(NOW_MS)
    row.refresh_from_db()
    assert row.state == "sent"


@db
def test_tries_have_an_end(hook: Hook) -> None:
    hook.answers = [500]
    row = told(hook.address)
    AlertDelivery.objects.update(tries=delivering.TRIES_MOST - 1)
    round_at(NOW_MS)
    row.refresh_from_db()
    assert (row.state, row.error) == ("given_up", "the answer was 500")
    round_at(NOW_MS + 10**9)
    assert len(hook.got) == 1


@db
def test_killed_between_arriving_and_marking_it_comes_again_with_the_same_id(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise Killed

    told(hook.address)
    with monkeypatch.context() as patch:
        patch.setattr(delivering, "mark_sent", killed)
        with pytest.raises(Killed):
            round_at(NOW_MS)
    round_at(NOW_MS + delivering.CLAIM_MS - 1)
    assert len(hook.got) == 1  # it might be on its way
    round_at(NOW_MS + delivering.CLAIM_MS)
    assert len({json.loads(body)["id"] for _, body in hook.got}) == 1 and len(hook.got) == 2
    assert AlertDelivery.objects.get().state == "sent"


@db
def test_it_is_marked_where_somebody_else_was_writing(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unmarked, it would be told again after a minute, and that it is over would wait as long."""
    mark, left = delivering._mark, [OperationalError("database table is locked")] * 2

    def locked_at_first(delivery: AlertDelivery, now_ms: int) -> None:
        if left:
            raise left.pop()
        mark(delivery, now_ms)

    monkeypatch.setattr(delivering, "_mark", locked_at_first)
    monkeypatch.setattr(delivering, "MARK_AGAIN_S", (0, 0))
    row = told(hook.address)
    round_at(NOW_MS)
    row.refresh_from_db()
    assert (row.state, len(hook.got)) == ("sent", 1)


@db
def test_two_keepers_send_it_once(hook: Hook) -> None:
    told(hook.address)
    mine, other = delivering.due(NOW_MS), delivering.due(NOW_MS)
    for found in (mine, other):
        for some in found.values():
            delivering.deliver(some, lambda: NOW_MS)
    assert len(hook.got) == 1


def test_one_that_hangs_is_left_within_its_time(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_S", 0.3)
    hook.answers = ["hang"]
    with pytest.raises(NotSent, match=r"no answer within 0\.3 s"):
        webhook.post(hook.address, "", {}, private=True)


def test_one_that_drips_is_left_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_S", 0.5)
    server = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def drip() -> None:
        connection, _ = server.accept()
        with connection:
            while not stop.wait(0.1):
                try:
                    connection.sendall(b"H")
                except OSError:
                    return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    try:
        with pytest.raises(NotSent):
            webhook.post(f"http://127.0.0.1:{server.getsockname()[1]}/", "", {}, private=True)
    finally:
        stop.set()
        thread.join()
        server.close()


def test_the_next_address_of_a_name_is_tried(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a name has an IPv6 address, and there is no way to that."""
    real = socket.getaddrinfo

    def several(host: str, port: int, **more: Any) -> Any:
        found = real(host, port, **more)
        return [(*each[:4], ("127.0.0.1", 9)) for each in found] + found

    monkeypatch.setattr(socket, "getaddrinfo", several)
    webhook.post(hook.address, SECRET, {"id": "1"}, True)
    assert len(hook.got) == 1


def test_private_networks_and_redirects(hook: Hook) -> None:
    with pytest.raises(NotSent, match="private network"):
        webhook.post(hook.address, "", {}, private=False)
    assert hook.got == []
    hook.answers = ["http://127.0.0.1:1/elsewhere"]
    with pytest.raises(NotSent, match="302, a redirect"):
        webhook.post(hook.address, "", {}, private=True)
    assert len(hook.got) == 1


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("127.0.0.1", False), ("10.1.2.3", False), ("169.254.169.254", False), ("100.64.0.1", False), ("::1", False),
        ("::ffff:127.0.0.1", False), ("fd00::1", False), ("fe80::1%lo", False), ("0.0.0.0", False),
        ("224.0.0.1", False), ("93.184.216.34", True), ("2606:2800:220:1::1", True),
        ("64:ff9b::7f00:1", False), ("64:ff9b::a9fe:a9fe", False), ("64:ff9b::5db8:d822", True),  # NAT64
        ("64:ff9b:1::a00:1", False), ("2002:a00:1::", False), ("2002:5db8:d822::", True),  # its local one; 6to4
        ("::127.0.0.1", False), ("::ffff:0:10.0.0.1", False), ("fec0::1", False),
    ],
)  # fmt: skip
def test_what_is_public(address: str, public: bool) -> None:
    assert webhook._is_public(address) is public


@pytest.mark.parametrize(
    "address",
    [
        "ftp://t0ken", "https://", "https://u:t0ken@x/", "t0ken", "https://x/t0ken y", "http://x:99999/", "http://x:0/",
        "https://[t0ken]/", "https://x:t0ken/", "https://t0ken\u2100.example/", "https://b\xfccher.example/",
        "https://x/t\xf6ken", "https://[::1/t0ken", "https://x]t0ken/",
    ],
)  # fmt: skip
def test_addresses_of_no_webhook(address: str) -> None:
    with pytest.raises(ValueError) as refused:
        webhook.check_address(address)
    assert "t0ken" not in str(refused.value)


@db
def test_apprise_says_it_and_keeps_its_address_to_itself(hook: Hook, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("apprise")
    caplog.set_level(logging.DEBUG)
    address = hook.address.replace("http://", "json://")
    row = told(address, kind="apprise")
    channels.check(row.receiver)
    round_at(NOW_MS)
    assert AlertDelivery.objects.get().state == "sent"
    said = json.loads(hook.got[0][1])
    assert (said["title"], said["type"]) == ("FIRING critical: lag (orders)", "failure")
    hook.answers = [500]
    with pytest.raises(NotSent):
        channels.by_apprise(address, "a", "b", "info")
    assert "t0ken" not in caplog.text
    with pytest.raises(ValueError):
        channels.check(AlertReceiver(kind="apprise", address="nonsense"))
