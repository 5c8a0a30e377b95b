"""What the dead letters pages send and get: exports, corrections, clusters and their trend."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from console.access import Forbidden
from console.api.http import downloads
from console.api.http.errors import ApiError
from console.engine import new_async_engine
from console.keeper.live_tasks import Sampling
from console.keeper.trends import ClusterTrends
from console.models import ApiToken, AuditEntry, TopicScope
from console.options import options
from console.serializers.text import csv_lines
from console.snapshots import clusters
from console.snapshots.store import LiveKeys
from console.usecases import resending, tokens
from console.usecases.bulk import exports
from console.usecases.bulk.exports import by_size
from rmq_core import FixedTimeMessage, PriorityMessage, RangeMergeMessage, TopicKind
from rmq_core.model.topic import QUEUE_KINDS
from rmq_core.model.views import MessageRow
from rmq_core.protocol.keys import slot_for
from tests.console.conftest import Queue
from tests.console.operations.desk import Desk, text_of


def test_dead_letters_are_exported_with_content(desk: Desk, as_role: Callable[..., Client]) -> None:
    desk.dead(700, "d")
    raw = desk.queue.client
    raw.send("orders", FixedTimeMessage(b"\xff\x00", desk.queue.inspector.now_ms(), key="bin"), allow_past=True)
    (delivery,) = raw.take("orders", timeout_ms=2000)
    raw.nack(delivery, error="ValueError", message="=cmd()")
    browser = as_role("Operator")
    lines = [json.loads(line) for line in text_of(browser.get("/api/v1/topics/orders/dead:export")).splitlines()]
    assert len(lines) == 701
    by_id = {line["id"]: line for line in lines}
    assert (by_id["d7"]["content"], by_id["d7"]["encoding"], by_id["d7"]["state"]) == ("d 7", "utf-8", "dead")
    assert (by_id["bin"]["content"], by_id["bin"]["encoding"]) == ("/wA=", "base64")
    answer = browser.get("/api/v1/topics/orders/dead:export?form=csv&error=ValueError")
    rows = list(csv.DictReader(io.StringIO(text_of(answer))))
    assert [row["id"] for row in rows] == ["bin"]
    entry = AuditEntry.objects.filter(action="export").first()
    assert entry is not None and entry.query["filter"] == {"state": "dead", "error": "ValueError"}


@pytest.mark.parametrize("taken", ["role", "account", "session", "password", "topics", "token"])
def test_an_export_ends_when_its_right_does(
    taken: str, desk: Desk, person: Callable[..., User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "SCAN", 10)
    monkeypatch.setattr(downloads, "RECHECK_S", 0.0)
    desk.dead(40, "d")
    user, browser = person("Operator"), Client()
    token = ApiToken(name="t", role="Operator", expires_at=timezone.now() + timedelta(hours=1))
    secret = tokens.give_secret(token)
    token.save()
    if taken == "token":
        browser = Client(headers={"Authorization": f"Bearer {secret}"})
    else:
        browser.force_login(user)
    pieces = iter(browser.get("/api/v1/topics/orders/dead:export").streaming_content)
    assert json.loads(next(pieces).splitlines()[0])["content"].startswith("d ")
    match taken:
        case "role":
            user.groups.set([Group.objects.get(name="Viewer")])
        case "account":
            User.objects.filter(pk=user.pk).update(is_active=False)
        case "session":
            browser.session.flush()
        case "password":
            user.set_password("another")
            user.save()
        case "topics":
            some = Group.objects.create(name="Team")
            TopicScope.objects.create(group=some, patterns="orders*, others")
            user.groups.add(some)
        case "token":
            tokens.revoke(token)
    with pytest.raises((ApiError, Forbidden)):
        list(pieces)


def test_an_export_is_for_payload_readers_and_refuses_nonsense(desk: Desk, as_role: Callable[..., Client]) -> None:
    assert as_role("Viewer").get("/api/v1/topics/orders/dead:export").status_code == 403
    browser = as_role("Operator")
    assert browser.get("/api/v1/topics/orders/dead:export?form=xls").status_code == 422
    assert browser.get("/api/v1/topics/orders/dead:export?fingerprint=zz").status_code == 422
    assert browser.get("/api/v1/topics/orders/dead:export?slot=4").status_code == 422
    assert browser.get("/api/v1/topics/nosuch/dead:export").status_code == 404
    assert text_of(browser.get("/api/v1/topics/orders/dead:export")) == ""


def test_contents_are_read_a_bounded_number_of_bytes_at_a_time() -> None:
    def row(size: int) -> MessageRow:
        return MessageRow(0, b"a", "dead", 1, None, 1, None, None, None, size, b"")

    groups = [[each.size for each in group] for group in by_size([row(n) for n in (4, 4, 9, 1, 1, 20)], 10)]
    assert groups == [[4, 4], [9, 1], [1], [20]]


def test_cells_are_no_formulas() -> None:
    assert csv_lines([["=1", "+1", "-1", "@x", "\tx", "x=1", -1]]) == "'=1,'+1,'-1,'@x,'\tx,x=1,-1\r\n"
    assert csv_lines([["\uff1d1", "\uff0b1", "\uff0d1", "\uff20x"]]) == "'\uff1d1,'\uff0b1,'\uff0d1,'\uff20x\r\n"
    assert csv_lines([["\n=1"]]) == '"\'\n=1"\r\n'


def test_a_dead_letter_is_put_right_and_sent_anew(desk: Desk, send: Callable[..., Any]) -> None:
    ident = desk.queue.dead("bill", '{"sum": "1O"}')
    slot = desk.queue.find(ident).row.slot
    body = {"slot": slot, "id": ident, "content": '{"sum": 10}', "drop": True, "reason": "a typo"}
    sent = send("/api/v1/topics/orders/dead:resend", **body).json()
    assert (sent["id"], sent["slot"]) == ("bill", slot)
    view = desk.queue.find("bill")
    assert (view.states, view.content) == (("ready",), b'{"sum": 10}')
    entry = AuditEntry.objects.get(action="send")
    assert entry.query == {"corrects": [slot, "bill"], "drop": True}
    assert (entry.result, entry.reason) == ("done", "a typo")


@pytest.mark.parametrize("kind", QUEUE_KINDS)
@pytest.mark.parametrize("slots", [1, 4, 64])
def test_a_corrected_message_stays_in_its_slot(
    desk: Desk, send: Callable[..., Any], kind: TopicKind, slots: int
) -> None:
    """Also where its id is its content, and so another one now, or where a slot basis had led to the slot."""
    desk.queue.topic("bills", kind, slots=slots)
    make: dict[TopicKind, Callable[[str], Any]] = {
        TopicKind.RANGE_MERGE: lambda basis: RangeMergeMessage("old", 1, slot_basis=basis, headers={"a": "b"}),
        TopicKind.PRIORITY: lambda basis: PriorityMessage("old", 77, slot_basis=basis, headers={"a": "b"}),
        TopicKind.FIXED_TIME: lambda basis: FixedTimeMessage("old", 1000, slot_basis=basis, headers={"a": "b"}),
    }
    ref = desk.queue.client.send("bills", make[kind]("customer 7"), allow_past=True)
    (delivery,) = desk.queue.client.take("bills", timeout_ms=2000)
    desk.queue.client.nack(delivery, error="KeyError", message="x")
    body = {"slot": ref.slot, "id": ref.id, "content": "new", "drop": False, "reason": "x"}
    sent = send("/api/v1/topics/bills/dead:resend", **body).json()
    assert (sent["id"], sent["slot"]) == ("new", ref.slot)
    view = desk.queue.find("new", "bills")
    assert (dict(view.headers), view.slot_basis) == ({"a": "b"}, b"customer 7")
    assert view.row.priority == (77 if kind is TopicKind.PRIORITY else None)
    assert desk.queue.find("old", "bills").states == ("dead",), "it was not to be dropped"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"content": '{"n": 1}'}, "requeue"),
        ({"content": ""}, "empty"),
        ({"reason": " "}, "why"),
        ({"id": "gone"}, "no longer there"),
        ({"slot": "d"}, "slot"),
        ({"content": None}, "content"),
    ],
)
def test_a_correction_that_makes_no_sense_is_refused(
    desk: Desk, send: Callable[..., Any], change: dict[str, Any], words: str
) -> None:
    ident = desk.queue.dead("d")
    slot, _ = desk.queue.ref(ident)
    good = {"slot": slot, "id": ident, "content": "better", "drop": True, "reason": "x"}
    answer = send("/api/v1/topics/orders/dead:resend", **{**good, **change})
    assert answer.status_code == (404 if "id" in change else 422), answer.content
    assert words in answer.json()["message"]
    assert desk.queue.find(ident).states == ("dead",)


def test_every_slot_has_a_basis_that_leads_to_it() -> None:
    for slots in (1, 2, 64, 4096):
        for slot in {0, slots // 2, slots - 1}:
            assert slot_for(resending.basis_for(slot, slots).encode(), slots) == slot


def test_clusters_of_a_topic_and_of_all(desk: Desk, as_role: Callable[..., Client]) -> None:
    desk.dead(3, "a", error="KeyError")
    desk.queue.topic("bills")
    desk.dead(5, "b", topic="bills", error="ValueError")
    reader, viewer = as_role("Operator"), as_role("Viewer")
    everywhere = reader.get("/api/v1/dead").json()
    assert [(each["topic"], each["error"], each["count"]) for each in everywhere["clusters"]] == [
        ("bills", "ValueError", 5),
        ("orders", "KeyError", 3),
    ]
    assert (everywhere["dead"], everywhere["topics"]) == (8, 2)
    assert "no tail number" in everywhere["clusters"][0]["example"]
    own = viewer.get("/api/v1/topics/orders/clusters").json()
    assert [each["count"] for each in own["clusters"]] == [3]
    assert own["clusters"][0]["example"] is None
    assert viewer.get("/api/v1/topics/nosuch/clusters").status_code == 404
    assert viewer.get("/dead/").status_code == 200


def test_the_trend_has_a_point_each_minute(desk: Desk, as_role: Callable[..., Client], settings: Any) -> None:
    desk.dead(3)
    (cluster,) = desk.queue.inspector.dead_clusters("orders")
    keys = LiveKeys(options().namespace)
    for minute, count in ((0, 7), (0.5, 9), (1, 5), (2, 3)):
        noted = clusters.note(keys, {"orders": {cluster.fingerprint: count}}, round(1_000_000 + 60_000 * minute))
        desk.queue.client.run(noted)
    (shown,) = as_role("Viewer").get("/api/v1/dead").json()["clusters"]
    assert shown["trend"] == [7, 5, 3]


async def test_the_keeper_notes_the_trend(queue: Queue, settings: Any) -> None:
    queue.topic()
    queue.dead("a")
    keys = LiveKeys(options().namespace)
    own = new_async_engine()
    trends = ClusterTrends(own, keys)
    await trends.round()
    await trends.round()  # within the same minute: no second point
    await own.client.close()
    (cluster,) = queue.inspector.dead_clusters("orders")
    assert queue.client.run(clusters.read(keys, ["orders", "none"])) == {
        "orders": {cluster.fingerprint: [1]},
        "none": {},
    }


async def test_topics_that_were_sampled_without_dead_letters_are_not_asked(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("orders", "jobs"):
        queue.topic(name)
    queue.dead("a")
    keys, own, asked = LiveKeys(options().namespace), new_async_engine(), []
    ask = own.inspector.dead_clusters

    async def noted(name: str) -> Any:
        asked.append(name)
        return await ask(name)

    monkeypatch.setattr(own.inspector, "dead_clusters", noted)
    sampling = Sampling(own, keys)
    trends = ClusterTrends(own, keys, sampling)
    await trends.round()
    assert asked == ["jobs", "orders"], "nothing is known yet"
    await sampling.round()
    await trends.round()
    assert asked[2:] == ["orders"]
    await own.client.close()


def test_trends_are_bounded_and_forget_what_is_gone() -> None:
    points: dict[str, list[int]] = {}
    for minute in range(100):
        points = clusters.trend(points, {"a": minute, **({"b": 5} if minute < 10 else {})})
    assert points == {"a": list(range(40, 100))}
    assert clusters.trend({"a": [1, 2]}, {"new": 4}) == {"a": [1, 2, 0], "new": [0, 0, 4]}
    many = clusters.trend({}, {str(n): n for n in range(1000)})
    assert len(many) == clusters.CLUSTERS_MOST and "999" in many
