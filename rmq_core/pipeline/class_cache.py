"""What Java loads to run Spark, kept in a file: some twenty thousand classes that are read and checked only once.

`program.keep_classes` makes the file; without one Spark starts as well, some seconds later. Java looks whether the file
fits, and goes without it where it does not: after an upgrade, or with another class path.
"""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from rmq_core.embedded.java import Java
from rmq_core.pipeline.java_options import spark_home

WITH_PROFILES = 25
"""Since this version Java also keeps what it has learned of how often which method runs (JEP 514 and 515)."""


def folder() -> Path:
    """Where the files are: beside the program, and as trusted as that."""
    return Path(sys.prefix) / "share" / "rmq"


def name_for(java: Java) -> str:
    """What the files for that runtime and this Spark begin with; then comes the size, for Java ends with a signal when
    one was cut off."""
    import pyspark

    of_both = f"{java.program.resolve()} {java.environment} {spark_home()}".encode()
    return f"spark-{pyspark.__version__}-java-{java.version}-{crc32(of_both):08x}"


def kept(java: Java) -> Path | None:
    """The newest whole file."""
    whole = []
    for file in folder().glob(f"{name_for(java)}-*.classes"):
        with suppress(OSError):  # somebody keeps classes just now, and has removed it
            seen = file.stat()
            if file.stem.endswith(f"-{seen.st_size}"):
                whole.append((seen.st_mtime, file))
    return max(whole)[1] if whole else None


def used(java: Java) -> str:
    """The option with which Java starts from the file that is kept; empty where there is none."""
    file = kept(java)
    return read(java, file) if file else ""


def read(java: Java, file: Path) -> str:
    """The option with which Java starts from a file."""
    return _option("AOTCache" if java.version >= WITH_PROFILES else "SharedArchiveFile", file)


def recorded(java: Java, file: Path) -> str:
    """The option with which Java writes such a file when it ends."""
    return _option("AOTCacheOutput" if java.version >= WITH_PROFILES else "ArchiveClassesAtExit", file)


def _option(name: str, file: Path) -> str:
    """As one word of many: Spark takes them apart as a shell does, and a path may have spaces."""
    return shlex.quote(f"-XX:{name}={file}")
