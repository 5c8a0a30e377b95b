"""Somebody's messages are erased from the console: counted, confirmed, done; nothing keeps whose they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import serializers
from django.utils import timezone

from console.access import Forbidden
from console.errors import BadRequest
from console.models import AuditEntry, Finding, MessageRecord, MessageTransition, Reconciliation
from console.options import options
from console.record.life import key_of
from console.serializers import runs as shapes
from console.usecases.actor import Actor
from console.usecases.runs import erasing, run_places, runs
from console.usecases.runs.archive_records import erased_since
from console.usecases.runs.erasing import Names
from console.usecases.runs.runs import RunRequest
from rmq_core import Addressed, FixedTimeMessage, Topic, TopicKind
from rmq_core.model.bodies import decode_body
from rmq_core.model.composing import composed
from rmq_core.model.follow_ups import plan_of
from rmq_core.model.ids import id_from_text
from rmq_core.model.message import encode
from tests.console.api.conftest import Caller, caller, make_token, problem
from tests.console.reconciliation.conftest import Office
from tests.support.console_options import set_options

__all__ = ["caller"]

FAR_MS = 4_000_000_000_000


def remember(ident: str, topic: str = "orders", basis: bytes | None = None) -> None:
    """In the record, and as a finding."""
    raw = id_from_text(ident)
    key = key_of(topic, 0, raw)
    MessageRecord.objects.create(
        **{"key": key, "topic": topic, "slot": 0, "ident": raw, "basis": basis, "body": b"private"},
        **{"state": "done", "first_ms": 1, "updated_ms": 2},
    )
    MessageTransition.objects.create(message=key, at_ms=1, entry=1, seq=0, event="sent")
    run = Reconciliation.objects.create(state="done", kind="reconcile", username="chief")
    Finding.objects.create(run=run, kind="lost", topic=topic, slot=0, ident=ident, evidence={"body": "private"})


def recorded() -> set[str]:
    return {bytes(row.ident).decode() for row in MessageRecord.objects.all()}


def erased(office: Office, names: Names, **more: Any) -> Any:
    run = office.do(**{"kind": "erase", "names": names, "reason": "asked", "confirm": "erase", **more})
    return run, shapes.detail_json(run, True)["erased"]


def everywhere() -> str:
    """What the database and the folder of reports say, all of it."""
    models = (Reconciliation, AuditEntry, Finding, MessageRecord, MessageTransition)
    files = [path.read_text() for path in Path(options().pipeline_reports).rglob("*") if path.is_file()]
    return "".join([serializers.serialize("json", model.objects.all()) for model in models] + files)


def test_first_it_counts_then_it_erases_and_keeps_no_name(office: Office) -> None:
    for ident, basis in (("ann-1", None), ("bob-1", None), ("order-7", b"ann-base")):
        remember(ident, basis=basis)
    remember("ann-1", topic="elsewhere")
    names = Names(("ann-1",), ("ann-base",))
    preview, counted = erased(office, names, topics=("orders",), dry_run=True, confirm="")
    assert preview.state == "done" and counted["preview"]
    assert {name: counted[name] for name in ("messages", "records", "findings", "left_n")} == {
        **{"messages": 2, "records": 2, "findings": 2, "left_n": 0}
    }
    assert recorded() == {"ann-1", "bob-1", "order-7"} and MessageRecord.objects.count() == 4
    assert "ann-1" in json.dumps(preview.asked) and erasing.names_of(preview) == names
    run, did = erased(office, erasing.names_of(preview), topics=("orders",))
    assert (run.state, did["records"], did["findings"], did["transitions"]) == ("done", 2, 2, 6)
    assert MessageRecord.objects.filter(topic="orders").get().ident == b"bob-1"
    assert MessageTransition.objects.count() == 2
    assert Finding.objects.filter(evidence__erased=True, ident="", repair="none").count() == 2
    MessageRecord.objects.filter(topic="elsewhere").delete()
    Finding.objects.filter(topic="elsewhere").delete()
    assert "ann-" not in everywhere()
    preview.refresh_from_db()
    with pytest.raises(BadRequest, match="forgotten whose"):
        erasing.names_of(preview)
    entry = AuditEntry.objects.order_by("pk").last()
    assert entry and (entry.action, entry.result, entry.reason) == ("erase", "done", "asked")
    assert entry.query == {"kind": "erase", "topics": ["orders"], "ids_n": 1, "slot_bases_n": 1}


def test_an_id_that_is_like_a_slot_basis_is_somebody_elses(office: Office) -> None:
    """Order 42 of customer 7 is none of customer 42. What is a stream now was a queue when it was recorded."""
    office.queue.client.define(Topic("streamed", TopicKind.STREAM, slots=1))
    for ident, basis in (("7", b"42"), ("42", b"7"), ("9", b"9-base")):
        remember(ident, basis=basis)
    remember("42", topic="streamed")
    then = Addressed("orders", "of customer 7", at=FAR_MS, key="42", slot_basis="7")
    body = encode(composed(Addressed("orders", "of 9", at=FAR_MS, key="9", if_done=then))).body  # type: ignore[arg-type]
    MessageRecord.objects.filter(ident=b"9").update(body=body)
    run, did = erased(office, Names((), ("42",)))
    assert (run.state, did["records"], did["findings"], did["record_mentions"]) == ("done", 2, 2, 0)
    assert recorded() == {"42", "9"}
    assert {each.ident for each in Finding.objects.exclude(ident="")} == {"42", "9"}
    assert erased(office, Names(("42",)))[1]["records"] == 1


def test_what_other_rows_of_the_record_say_of_it_goes_too(office: Office) -> None:
    """But not what a message says that is still in Redis."""
    then = Addressed("orders", "private, of ann", at=FAR_MS, key="ann-1", headers={"to": "ann"})
    bodies = {}
    for ident in ("before", "waits"):
        remember(ident)
        message = composed(Addressed("orders", f"of {ident}", at=FAR_MS, key=ident, if_done=then))
        bodies[ident] = encode(message).body  # type: ignore[arg-type]
        MessageRecord.objects.filter(ident=ident.encode()).update(body=bodies[ident])
    headers = {"rmq-after": "orders 0 ann-1"}
    after = encode(FixedTimeMessage("of after", FAR_MS, key="after", headers=headers)).body
    remember("after")
    MessageRecord.objects.filter(ident=b"after").update(body=after)
    sent = office.queue.client.send("orders", "of waits", at=FAR_MS, key="waits", if_done=then)
    MessageRecord.objects.filter(ident=b"waits").update(slot=sent.slot)
    _, planned = erased(office, Names(("ann-1",)), dry_run=True)
    run, did = erased(office, Names(("ann-1",)))
    assert (run.state, planned["record_mentions"], did["record_mentions"], did["mentioning"]) == ("done", 2, 2, 1)
    left = {bytes(row.ident).decode(): bytes(row.body or b"") for row in MessageRecord.objects.all()}
    assert [ident for ident, body in left.items() if b"ann" in body] == ["waits"]
    before = decode_body(left["before"])
    assert (before.content, plan_of(before.headers).if_done) == (b"of before", None)
    assert decode_body(left["after"]).headers == {"rmq-after": "orders 0 %"}


def test_what_is_still_in_redis_stays_and_is_named_until_a_day_is_over(office: Office) -> None:
    """What the pipeline leaves; and what it has never heard of, for its journal is off."""
    for ident in ("busy-1", "waits", "over"):
        remember(ident)
    office.queue.client.send("orders", FixedTimeMessage("x", FAR_MS, key="waits"))
    slot = office.queue.inspector.find("orders", "waits")[0].row.slot
    MessageRecord.objects.filter(ident=b"waits").update(slot=slot)
    Finding.objects.filter(ident="waits").update(slot=slot)
    run, did = erased(office, Names(("busy-1", "waits", "over")))
    assert (run.state, run.error) == ("failed", "erased 2 messages; 1 stay, as they are not over")
    assert did["left"] == [{"topic": "orders", "id": "busy-1", "why": "redis"}] and did["left_n"] == 1
    assert (did["records"], did["findings"]) == (1, 1)
    assert recorded() == {"busy-1", "waits"}
    assert shapes.detail_json(run, False)["erased"]["left"][0]["id"] is None
    erasing.forget_names(timezone.now())
    run.refresh_from_db()
    assert run.summary["erased"]["left"]
    named = run_places.report_of(run) / "ids"
    named.write_text("busy-1\n")  # as of a worker that was killed
    erasing.forget_names(timezone.now() + timedelta(days=1, minutes=1))
    run.refresh_from_db()
    assert not named.exists()
    assert run.summary["erased"]["left"] == [] and run.summary["erased"]["left_n"] == 1


def test_a_run_that_fails_keeps_no_name(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUN_AS", "fails")
    remember("ann-1")
    run, did = erased(office, Names(("ann-1",)))
    assert (run.state, did, run.asked) == ("failed", None, {"ids_n": 1, "slot_bases_n": 0})
    assert recorded() == {"ann-1"}
    assert not [*Path(options().pipeline_reports).rglob("ids")]


def test_what_is_no_erasure_is_refused(office: Office, person: Callable[..., User]) -> None:
    ann = Names(("ann-1",))
    for wanted, why in (
        ({}, "Say whose messages"),
        ({"names": Names()}, "Say whose messages"),
        ({"names": Names(("%",))}, "not empty"),
        ({"names": Names(("%x",))}, "hex digits"),
        ({"names": Names(("a\nb",))}, "cannot be printed"),
        ({"names": Names(("a",) * 1_001)}, "At most 1000"),
        ({"names": ann, "confirm": "restore"}, "Type “erase” to confirm"),
        ({"names": ann, "reason": ""}, "Say why"),
        ({"names": ann, "into": "trial"}, "Only a restore"),
        ({"names": ann, "kind": "archive"}, "Messages are named where they are erased"),
    ):
        with pytest.raises(BadRequest, match=why):
            office.start(**({"kind": "erase", "confirm": "erase", "reason": "asked"} | wanted))
    with pytest.raises(BadRequest, match="a person has to start it"):
        runs.schedule(office.who, RunRequest(kind="erase", names=ann), 3_600_000)
    with pytest.raises(Forbidden, match="administer"):
        runs.start(Actor(person("Editor")), RunRequest("erase", names=ann, dry_run=True))
    assert not Reconciliation.objects.exists()


def test_over_rest(office: Office, queue_caller: Caller) -> None:
    remember("ann-1")
    asked = {"kind": "erase", "ids": ["ann-1"], "dry_run": True}
    answer = queue_caller.post("/reconciliations", asked)
    assert answer.status_code == 202
    preview = answer.json()["id"]
    office.work()
    shown = queue_caller.get(f"/reconciliations/{preview}").json()
    assert (shown["erased"]["records"], shown["erased"]["preview"]) == (1, True)
    confirmed = {"kind": "erase", "preview": preview, "reason": "asked", "confirm": "erase"}
    problem(queue_caller.post("/reconciliations", confirmed | {"ids": ["b"]}), 422, "invalid")
    problem(queue_caller.post("/reconciliations", confirmed | {"confirm": "yes"}), 422, "bad_request")
    answer = queue_caller.post("/reconciliations", confirmed)
    assert answer.status_code == 202
    office.work()
    shown = queue_caller.get(f"/reconciliations/{answer.json()['id']}").json()
    assert (shown["state"], shown["erased"]["records"], shown["erased"]["preview"]) == ("done", 1, False)
    assert recorded() == set()


def test_what_the_archive_let_go_is_on_the_runs_page_and_in_a_list(
    office: Office, settings: Any, tmp_path: Path, caller: Callable[..., Caller]
) -> None:
    set_options(settings, PIPELINE_ARCHIVE=str(tmp_path / "archive"))
    shown = shapes.detail_json(office.do(kind="archive"), True)["archived"]
    gone = {"topic": "orders", "before": "2026-11-01", "days": 2, "transitions": 30, "freed_bytes": 4096}
    assert shown == {"rows": 100, "trimmed": 50, "compacted": 3, "forgotten": 30, "let_go": [gone]}
    path = "/reconciliations/forgotten"
    assert caller("Viewer").ok("GET", path)["let_go"] == []
    for folder in ("erased", "forgotten"):
        (tmp_path / "archive" / folder).mkdir(parents=True)
        (tmp_path / "archive" / folder / "0.json").write_text("{")  # one that cannot be read keeps no other
    older = {"topic": "mail", "before": "2026-10-01", "days": 1, "transitions": 3}
    for at_ms, each in ((1, older), (2, gone)):
        said = {"format": 1, "at_ms": at_ms, "topics": [each]}
        (tmp_path / "archive" / "forgotten" / f"{at_ms}.json").write_text(json.dumps(said))
    erasure = {
        **{"name": "1", "salt": "00", "begun_ms": 5, "done_ms": 6, "reason": "asked", "topics": ["orders"]},
        **{"messages": 1, "transitions": 3, "days": 1, "hashes": {"orders": ["0a"]}, "format": 1},
    }
    (tmp_path / "archive" / "erased" / "1.json").write_text(json.dumps(erasure))
    found = caller("Viewer").ok("GET", path)
    assert found["damaged"] == ["erased/0.json", "forgotten/0.json"]
    assert erased_since("orders", [b"a"], 10**12) == {b"a"}, "nobody knows what it says"
    (tmp_path / "archive" / "erased" / "0.json").unlink()
    assert erased_since("orders", [b"a"], 0) == set()
    told = {"salt": "00", "mentioning": {"orders": [sha256(b"\x00a").hexdigest()]}}
    (tmp_path / "archive" / "erased" / "2.json").write_text(json.dumps(erasure | told))
    assert erased_since("orders@all", [b"a", b"b"], 6) == {b"a"} and erased_since("orders", [b"a"], 7) == set()
    (tmp_path / "archive" / "erased" / "2.json").unlink()
    assert found["let_go"] == [{"at_ms": 2, **gone}, {"at_ms": 1, **older, "freed_bytes": 0}]
    assert [each["reason"] for each in found["erasures"]] == ["asked"] and "0a" not in json.dumps(found)
    mail = caller("Viewer", "mail").ok("GET", path)
    assert ([each["topic"] for each in mail["let_go"]], mail["erasures"]) == (["mail"], [])
    set_options(settings, PIPELINE_ARCHIVE="s3a://elsewhere/archive")
    assert caller("Viewer").ok("GET", path)["here"] is False


@pytest.fixture
def queue_caller(office: Office) -> Caller:
    return Caller(*make_token("Admin"))
