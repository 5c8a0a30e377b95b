"""Small files on a disk of this machine."""

from __future__ import annotations

import errno
from types import SimpleNamespace
from typing import Any

import pytest

from rmq_core.pipeline.durable import create
from rmq_core.pipeline.files import write_text
from tests.support.disks import small_disk


def test_what_found_no_room_leaves_nothing(tmp_path: Any) -> None:
    # What Java has said of the machine; it is asked for nothing else.
    said = {"fs": "file:///", "umask": "022", "folder": str(tmp_path)}
    session: Any = SimpleNamespace(_jsparkSession=None, sparkContext=SimpleNamespace(_rmq_hadoop=said))
    with small_disk(1) as disk:
        path, text = f"file://{disk.path}/checkpoint/offsets", "x" * 2**20
        write_text(session, f"{path}/0", "before")
        for write in (create, write_text):
            with pytest.raises(OSError) as caught:
                write(session, f"{path}/{'1' if write is create else '0'}", text)
            assert caught.value.errno == errno.ENOSPC
        left = [each for each in disk.path.rglob("*") if each.is_file()]
        assert [(each.name, each.read_text()) for each in left] == [("0", "before")]
        assert create(session, f"{path}/1", "small")
