"""What one version of a closing state knows of one topic."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rmq_core.pipeline.unchanged import Folders


@dataclass(frozen=True)
class Covered:
    """What a version knows of a topic: the ``folder`` with its sums, those with its messages and windows, the oldest
    first, and what of the archive that covers: ``until`` a batch, its ``offsets`` per slot and its ``files``.
    ``forks``: slots and lives in which numbers were given twice by a server that had lost its end. ``doubted``: files
    of it were changed by hand, and nobody has said since that they are right."""

    folder: str
    messages: list[str]
    windows: list[str]
    until: str
    offsets: dict[str, str]
    files: Folders
    deleted_ms: int
    forks: list[tuple[int, int]]
    doubted: bool = False

    def as_json(self) -> dict[str, Any]:
        """As a version says it. Releases that know of no doubt read what none is cast on."""
        return {name: value for name, value in asdict(self).items() if name != "doubted" or value}

    @property
    def folders(self) -> set[str]:
        """Those it has something in."""
        return {self.folder, *self.messages, *self.windows}

    @property
    def places(self) -> dict[str, set[str]]:
        """The same by table."""
        return {"messages": set(self.messages), "windows": set(self.windows), "": {self.folder}}
