"""Which folders of a closing state stay; no Spark is started."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from rmq_core.pipeline.state import versions

WITHOUT_JAVA: Any = object()
OLD_S = time.time() - versions.READ_WITHIN_MS / 1000 - 60


def a_folder(path: Path, name: str, at_s: float = OLD_S) -> None:
    file = path / name / "messages" / "part"
    file.parent.mkdir(parents=True)
    file.touch()
    os.utime(file, (at_s, at_s))


def a_version(path: Path, number: int, **needed: int) -> None:
    """``needed``: by topic, the number of the folder with what is known of it."""
    name = name_of(number)
    a_folder(path, name)
    topics = {
        topic: {"folder": name_of(of), "messages": [name_of(of)], "windows": [name_of(of)]}
        for topic, of in needed.items()
    }
    said = {"format": 1, "at_ms": int(OLD_S * 1000), "topics": topics}
    (path / f"{name}.json").write_text(json.dumps(said))


def name_of(number: int) -> str:
    return f"{number:012d}-0000000a"


def left(path: Path) -> list[int]:
    versions.prune(WITHOUT_JAVA, str(path), 1, ("messages", "windows"))
    return sorted(int(each.name[:12]) for each in path.iterdir() if each.is_dir())


def test_a_topic_that_nobody_looks_at_keeps_its_own_folder_and_no_others(tmp_path: Path) -> None:
    a_version(tmp_path, 1, mail=1)
    for number in range(2, 9):
        a_version(tmp_path, number, mail=1, price=number)
    assert left(tmp_path) == [1, 6, 7, 8]
    assert sorted(versions.manifests(WITHOUT_JAVA, str(tmp_path))) == [name_of(number) for number in (6, 7, 8)]


def test_what_a_killed_run_has_left_goes_unless_it_may_still_write(tmp_path: Path) -> None:
    for number in (5, 6, 7):
        a_version(tmp_path, number, price=number)
    a_folder(tmp_path, "000000000004-killed00")
    a_folder(tmp_path, "000000000003-writing0", time.time())
    a_folder(tmp_path, "000000000008-begun000")
    assert left(tmp_path) == [3, 5, 6, 7, 8]
