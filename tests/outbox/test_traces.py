"""A trace leads from where something is written into an outbox to its handling, and to what follows that."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from console import outbox
from console.outbox import sending
from rmq_core import Addressed
from rmq_core.hooks.chain import Hooks
from rmq_core.hooks.hook import Handling
from tests.outbox.conftest import Shop
from tests.outbox.traces import exporter, provider, telemetry


@pytest.fixture(autouse=True)
def _traced(shop: Shop) -> None:
    exporter.clear()
    shop.configure(HOOKS=["tests.outbox.traces:telemetry"])


def test_from_the_view_to_what_follows(shop: Shop) -> None:
    shop.topic()
    then = Addressed("mail", "then", priority=100)
    with provider.get_tracer("shop").start_as_current_span("view") as view, transaction.atomic(using=shop.alias):
        outbox.send("mail", "first", priority=900, using=shop.alias, if_done=then)
    shop.step()
    trace = f"{view.get_span_context().trace_id:032x}"
    for content in ("first", "then"):
        (delivery,) = shop.rmq.take("mail")
        assert (delivery.text, delivery.headers["traceparent"].split("-")[1]) == (content, trace)
        with Hooks([telemetry]).handling(Handling([delivery], "listener", "worker")):
            shop.rmq.ack(delivery)
    spans = {each.name: each for each in exporter.get_finished_spans()}
    assert spans["send mail"].parent == view.get_span_context()
    processed = [each for each in exporter.get_finished_spans() if each.name == "process mail"]
    linked = [each.links[0].context.span_id for each in processed]
    assert linked == [spans["send mail"].get_span_context().span_id] * 2


def test_who_rolls_back_has_sent_nothing_and_a_hook_that_refuses_refuses_the_send(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.topic()

    def refuse(given: Any) -> Any:
        raise PermissionError(given.topic)

    monkeypatch.setattr(telemetry, "sending", refuse)
    sending._hooks.cache_clear()
    with pytest.raises(PermissionError, match="mail"), transaction.atomic(using=shop.alias):
        outbox.send("mail", "first", priority=900, using=shop.alias)
    sending._hooks.cache_clear()
    assert shop.states() == []
