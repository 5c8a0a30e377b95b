"""Which server may go on with data that another one has written.

Redis 6.2 does not see the append-only folder of newer servers and would start empty; a server that meets data of a
newer format calls it damaged, and advises a repair that destroys it.
"""

from __future__ import annotations

import re
from pathlib import Path

from rmq_core.embedded.redis_binary import RedisProgram
from rmq_core.errors import EmbeddedServerError
from rmq_core.private_files import write_private

WRITER_FILE = "written_by"
# Valkey began as Redis 7.2; from then on their formats went separate ways.
_LAST_COMMON = (7, 2)
_FOREIGN = re.compile(r"Bad file format|Can't handle RDB format|Wrong signature", re.IGNORECASE)


def refuse_foreign_data(folder: Path, program: RedisProgram) -> None:
    """Raise ``EmbeddedServerError`` where ``folder`` holds what ``program`` cannot read or would not see."""
    if not any((folder / name).exists() for name in ("appendonlydir", "appendonly.aof", "dump.rdb")):
        return
    writer = _writer(folder)
    if writer and not _reads(program, *writer):
        raise EmbeddedServerError(_sentence(folder, program, "{} {}.{}".format(writer[0], *writer[1])))
    if (folder / "appendonlydir").exists() and program.version < (7,):
        raise EmbeddedServerError(_sentence(folder, program, "Redis 7 or newer"))


def sign_data(folder: Path, program: RedisProgram) -> None:
    """Note that ``program`` writes here from now on."""
    write_private(folder / WRITER_FILE, f"{program}\n")


def explained(words: str, folder: Path, program: RedisProgram) -> str | None:
    """What a server's last output means, where they are of data it cannot read."""
    if not _FOREIGN.search(words):
        return None
    return (
        f"{program} cannot read the data in {folder}: a newer server, or one of another kind, has written it, or it is"
        " damaged. Start the one that has written it, or choose another data folder; a repair would destroy data that"
        f" is only newer. It said last:\n{words}"
    )


def _sentence(folder: Path, program: RedisProgram, writer: str) -> str:
    return (
        f"the data in {folder} was written by {writer}, and {program} ({program.path}) cannot read that: install the"
        " one that has written it or a newer one, or choose another data folder"
    )


def _writer(folder: Path) -> tuple[str, tuple[int, int]] | None:
    file = folder / WRITER_FILE
    found = re.fullmatch(r"(\w+) (\d+)\.(\d+)\S*\s*", file.read_text()) if file.is_file() else None
    return (found[1], (int(found[2]), int(found[3]))) if found else None


def _reads(program: RedisProgram, family: str, version: tuple[int, int]) -> bool:
    if program.family == family:
        return program.version[:2] >= version
    return family == "Redis" and version <= _LAST_COMMON
