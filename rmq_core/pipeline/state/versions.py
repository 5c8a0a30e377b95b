"""The versions of a closing state: which there are, what each says, and which are needed no more."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from rmq_core.pipeline import files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT = 3
"""So many versions stay, and those younger than `READ_WITHIN_MS`: whoever began with one may still read it."""
READ_WITHIN_MS = 3_600_000
_MANIFEST = re.compile(r"\d+-[0-9a-f]{8}\.json")


def manifests(session: SparkSession, path: str) -> list[str]:
    """The names of the versions that are whole; whatever else lies there is somebody else's."""
    return [name.removesuffix(".json") for name in files.files(session, path) if _MANIFEST.fullmatch(name)]


def said(session: SparkSession, path: str, name: str, format: int) -> dict[str, Any] | None:
    """What a version says; None where it cannot be read, or another release wrote it."""
    try:
        found: dict[str, Any] = json.loads(files.read_text(session, f"{path}/{name}.json") or "null")
        return found if found["format"] == format else None
    except (ValueError, TypeError, KeyError):
        return None


def closed(session: SparkSession, path: str, format: int) -> dict[str, str]:
    """Per topic the last batch that the newest version covers."""
    names = sorted(manifests(session, path), reverse=True)
    newest = next((found for name in names if (found := said(session, path, name, format))), None)
    return {topic: str(each["until"]) for topic, each in newest["topics"].items()} if newest else {}


def recorded(session: SparkSession, path: str, format: int) -> dict[str, set[str]]:
    """Per topic the folders of the archive that any version names."""
    found: dict[str, set[str]] = {}
    for name in manifests(session, path):
        for topic, each in (said(session, path, name, format) or {"topics": {}})["topics"].items():
            found.setdefault(topic, set()).update(each["files"])
    return found


def say(
    session: SparkSession, path: str, name: str, format: int, erased: Collection[str], topics: Collection[str]
) -> None:
    """Has a version say of which erasures it has nothing, and know no other topics than these."""
    if found := said(session, path, name, format):
        known = {topic: each for topic, each in found["topics"].items() if topic in topics}
        if (known, sorted(erased)) != (found["topics"], found.get("erased")):
            text = json.dumps(found | {"erased": sorted(erased), "topics": known})
            files.write_text(session, f"{path}/{name}.json", text)


def drop(session: SparkSession, path: str, name: str) -> None:
    """Removes a version that must not be, whole or begun."""
    files.remove(session, f"{path}/{name}.json")
    files.remove(session, f"{path}/{name}")


def is_clean(said: dict[str, Any], erased: Collection[str]) -> bool:
    """Whether a version has nothing of what these erasures took; older releases noted no names."""
    return {*said.get("erased", ())} >= {*erased}


def prune(session: SparkSession, path: str, format: int, parted: Sequence[str], erased: Collection[str] = ()) -> None:
    """Removes versions that nobody needs any more, and what a run that was stopped has left. ``parted``: tables of
    which a version needs several folders. ``erased``: those with anything of these erasures go at once.

    Of a topic that no run has looked at for long a version needs an old folder; what came between is not kept for that.
    """
    names, kept, needed, gone = sorted(manifests(session, path), reverse=True), list[str](), set[str](), list[str]()
    old_ms = int(time.time() * 1000) - READ_WITHIN_MS
    for place, name in enumerate(names):
        found = said(session, path, name, format)
        if found and is_clean(found, erased) and (place < KEPT or found["at_ms"] > old_ms):
            several = found["topics"].values()
            kept.append(name)
            needed |= {name, *(each["folder"] for each in several)}
            needed |= {folder for each in several for table in parted for folder in each[table]}
        else:
            gone.append(name)
    for name in gone:
        files.remove(session, f"{path}/{name}.json")
    oldest = min(kept, default="")
    for name in files.folders(session, path):
        if name not in needed and name < oldest and not _is_young(session, f"{path}/{name}", old_ms):
            files.remove(session, f"{path}/{name}")


def _is_young(session: SparkSession, folder: str, since_ms: int) -> bool:
    """Whether somebody may still be writing it."""
    return any(changed_ms > since_ms for _, _, changed_ms in files.tree(session, folder))


def keep_only(session: SparkSession, path: str, name: str, messages: set[str], *, whole: bool) -> None:
    """Removes all other versions, and of its own folders the ``messages`` that it does not read. ``whole``:
    raises `PipelineError` where these stay."""
    for other in manifests(session, path):
        if other != name:
            files.remove(session, f"{path}/{other}.json")
    for folder in files.folders(session, path):
        if folder not in messages:
            (files.remove_whole if whole else files.remove)(session, f"{path}/{folder}/messages")
