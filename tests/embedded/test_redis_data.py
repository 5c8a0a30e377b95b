"""Data folders that meet another server than the one that wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_data import WRITER_FILE
from rmq_core.errors import EmbeddedServerError
from tests.support.servers import SERVER_KINDS, server_of
from tests.support.waiting import wait_until


def write(folder: Path, kind: str) -> None:
    """A rewritten append-only file, and more after it."""
    with EmbeddedRedis(folder, appendonly=True, executable=server_of(kind)) as server, server.client() as client:
        client.zadd("kept", {"a": 1.5})
        client.bgrewriteaof()
        wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"], what="the file is rewritten")
        client.set("later", "yes")


@pytest.fixture(params=permutations(SERVER_KINDS, 2), ids=lambda pair: f"{pair[0]}-then-{pair[1]}")
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    yield request.param


def test_a_newer_server_goes_on_and_an_older_one_says_why_not(pair: tuple[str, str], tmp_path: Path) -> None:
    first, second = pair
    write(tmp_path, first)
    other = EmbeddedRedis(tmp_path, appendonly=True, executable=server_of(second))
    if SERVER_KINDS.index(first) < SERVER_KINDS.index(second):  # the newest is the first of them
        with pytest.raises(EmbeddedServerError, match=r"was written by \w+ [\d.]+, and .* cannot read that"):
            other.start()
        with EmbeddedRedis(tmp_path, appendonly=True, executable=server_of(first)) as again, again.client() as client:
            assert client.get("later") == b"yes"  # nothing has been touched
        return
    with other, other.client() as client:
        assert (client.zscore("kept", "a"), client.get("later")) == (1.5, b"yes")


@pytest.mark.parametrize(("first", "second"), [("valkey", "redis-6.2"), ("valkey", "redis-7")])
def test_data_of_an_unknown_writer_is_never_called_damaged(tmp_path: Path, first: str, second: str) -> None:
    write(tmp_path, first)
    (tmp_path / WRITER_FILE).unlink()  # as the releases before left it
    with pytest.raises(EmbeddedServerError, match=r"cannot read"):
        EmbeddedRedis(tmp_path, appendonly=True, executable=server_of(second)).start()


def test_an_unreadable_file_is_told_apart_from_other_ends(tmp_path: Path) -> None:
    write(tmp_path, "valkey")
    (base,) = (tmp_path / "appendonlydir").glob("*.base.rdb")
    base.write_bytes(b"VALKEY999" + base.read_bytes()[9:])
    with pytest.raises(EmbeddedServerError, match="a repair would destroy data"):
        EmbeddedRedis(tmp_path, appendonly=True, executable=server_of("valkey")).start()
