"""Why something is late where slots have owners: what can be the matter with an owner."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rmq_core.embedded.zookeeper import EmbeddedZooKeeper
from rmq_core.why.answer import Reason
from tests.ownership.conftest import quick_config
from tests.ownership.fleet import Fleet
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until

SENT = 8


def reasons(fleet: Fleet, *codes: str) -> list[Reason]:
    """The first reasons, as soon as they are these and all that was sent is due: one slot is read after the other."""

    def due() -> list[Reason]:
        some = list(fleet.inspector.why(fleet.queue).reasons)
        found = [each.code for each in some][: len(codes)] == list(codes) and some[0].values["ready"] == SENT
        return some if found else []

    return wait_until(due, what=f"the answer to be {codes}")


@pytest.mark.zookeeper
@pytest.mark.parametrize("kind", ["fixed-time", "stream"])
def test_what_can_be_the_matter_with_an_owner(
    new_fleet: Callable[..., Fleet], quick_zookeeper: EmbeddedZooKeeper, kind: str
) -> None:
    with TcpProxy(quick_zookeeper.port) as proxy:
        config = quick_config(f"127.0.0.1:{proxy.port}")
        fleet = new_fleet(config, slots=2, bases=8, kind=kind)
        fleet.start("a")
        fleet.owned_by("a")

        fleet.freeze("a")
        fleet.send(SENT)
        lost, owner = reasons(fleet, "worker_lost", "owner_lost")[:2]
        assert (lost.values["worker"], owner.values["worker"]) == ("a", "a")
        assert owner.values["silent_ms"] >= 5_000
        fleet.thaw("a")
        fleet.wait_done()

        proxy.refuse()
        wait_until(lambda: not fleet.connected({"a"}), what="it to say that ZooKeeper is away")
        fleet.send(SENT)
        away = reasons(fleet, "zookeeper_away")[0]
        assert away.values["worker"] == "a" and away.values["for_ms"] >= 0
        proxy.accept()
        fleet.wait_done()

        fleet.control.drain("a")
        wait_until(lambda: set(fleet.owners().values()) == {None}, what="its slots to be given back")
        fleet.send(SENT)
        assert reasons(fleet, "drained", "unowned")[0].values == {"ready": SENT, "worker": "a"}
        fleet.control.undrain("a")
        fleet.wait_done()

        fleet.stop("a")
        fleet.send(SENT)
        reasons(fleet, "no_worker", "unowned")
        fleet.start("a")
        fleet.wait_done()
