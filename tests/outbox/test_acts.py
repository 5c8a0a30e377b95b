"""What somebody does to rows, and how an outbox is."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from console.outbox import acts, clock
from console.outbox.acts import Which
from console.outbox.figures import all_figures
from tests.outbox.conftest import LEASE_MS, Shop
from tests.outbox.test_relay import claim, contents, write


def test_what_is_parked_is_tried_again(shop: Shop) -> None:
    shop.topic(max_content_bytes=100)
    write(shop, "x" * 101, "fine")
    shop.step()
    assert shop.states() == [("parked", 1), ("sent", 0)]
    assert acts.retry(shop.alias, Which(all_parked=True, topic="other")) == 0
    assert acts.retry(shop.alias, Which(all_parked=True, topic="mail")) == 1
    assert shop.states() == [("waiting", 0), ("sent", 0)]
    ids = list(shop.rows.values_list("pk", flat=True))
    assert acts.retry(shop.alias, Which(ids)) == 1, "what was sent is not sent again"


def test_what_waits_behind_a_row_goes_on_when_that_is_tried_or_discarded(shop: Shop) -> None:
    write(shop, "1", "2", "3", topic="unborn", lane="one")
    shop.step()
    assert contents(claim(shop)) == []
    first = shop.rows.order_by("pk")[0].pk
    assert acts.retry(shop.alias, Which([first])) == 1
    assert contents(claim(shop)) == ["1", "2", "3"]
    shop.let_pass(LEASE_MS)
    shop.step()
    assert acts.discard(shop.alias, Which([first]), "wrong") == 1
    assert contents(claim(shop)) == ["2", "3"]
    assert shop.rows.get(pk=first).error == "discarded: wrong"


def test_what_is_being_sent_is_left_alone(shop: Shop) -> None:
    write(shop, "1")
    leased = claim(shop)
    ids = [row.id for row in leased.rows]
    assert acts.discard(shop.alias, Which(ids), "too late") == 0
    assert acts.retry(shop.alias, Which(ids)) == 0
    assert contents(claim(shop)) == []
    shop.let_pass(LEASE_MS)
    assert acts.discard(shop.alias, Which(ids), "in time") == 1


def test_the_figures_say_how_long_the_oldest_waits(shop: Shop) -> None:
    (figures,) = all_figures()
    assert (figures.waiting, figures.parked, figures.lag_ms, figures.problem) == (0, 0, 0, "")
    one, two = write(shop, "1", "2")
    now_ms = clock.now_ms(shop.alias)
    shop.rows.filter(pk=one).update(written_ms=now_ms - 60_000)
    shop.rows.filter(pk=two).update(written_ms=now_ms - 90_000, at_ms=now_ms + 90_000, tries=2)
    (figures,) = all_figures()
    assert (figures.waiting, figures.failing, figures.parked) == (2, 1, 0)
    assert 90_000 <= figures.lag_ms < 120_000


def test_an_outbox_that_cannot_be_read_says_why(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: str) -> int:
        raise OperationalError("no such table: rmq_outbox_message\nLINE 1")

    monkeypatch.setattr(clock, "now_ms", away)
    write(shop, "1")
    (found,) = all_figures()
    assert found.problem == "no such table: rmq_outbox_message"
