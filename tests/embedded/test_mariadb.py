"""A MariaDB of our own."""

from __future__ import annotations

import pytest

from rmq_core.embedded.mariadb import EmbeddedMariaDB, mariadb_program
from rmq_core.embedded.ports import PortTaken
from rmq_core.errors import EmbeddedServerError
from tests.support.missing import missing


def test_it_starts_again_on_its_data_though_it_was_killed_at_once() -> None:
    try:
        mariadb_program()
    except EmbeddedServerError as error:
        missing(str(error))
    with EmbeddedMariaDB() as server:
        url, folder = server.url, server.dir
        server.restart(kill=True)
        assert (server.running, server.url) == (True, url)
        assert server.version.startswith("1")
        with pytest.raises(PortTaken, match="ended while starting"), EmbeddedMariaDB(port=server.port):
            pass
    assert not folder.exists()
