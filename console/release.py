"""Which templates and static files belong to this process: a tab that was opened with others can tell.

Those of the packages that pages are made with are of the release, too, by their versions.

Read when the process starts, for whoever upgrades the package below a running one replaces the files it still serves.
"""

from __future__ import annotations

from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

_FOLDERS = ("static", "templates")
_ENDINGS = {".js", ".css", ".html"}
_PACKAGES = ("django", "django-ninja", "django-unfold")


def release_of(root: Path) -> str:
    """The same for the same files, on every machine."""
    digest = blake2b("".join(map(version, _PACKAGES)).encode(), digest_size=8)
    for file in sorted(each for folder in _FOLDERS for each in (root / folder).rglob("*") if each.suffix in _ENDINGS):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


RELEASE = release_of(Path(__file__).parent)
