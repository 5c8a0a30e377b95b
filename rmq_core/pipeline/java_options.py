"""What Java is told when Spark starts in this process, beside what its user tells it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
"""Before `spark.driver.extraJavaOptions`, which are the user's, wherever they come from."""

# On two cores the collector that stops everything for a moment costs less than the one that works beside it.
_COLLECTOR = "-XX:+UseParallelGC"
_ANY_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
_OF_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_OF_SPARK = ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS")


def spark_home() -> Path:
    """Where the Spark is that starts in this process."""
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def with_collector(options: str = "", settings: Mapping[str, str] | None = None) -> str:
    """These options, and our collector where nobody asks for one: Java does not start with two."""
    asked = any(_ANY_COLLECTOR.search(said) for said in _said(settings or {}))
    return options if asked else f"{_COLLECTOR} {options}".strip()


def _said(settings: Mapping[str, str]) -> Iterator[str]:
    yield from settings.values()
    yield from (os.environ.get(name, "") for name in (*_OF_JAVA, *_OF_SPARK))
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf") / "spark-defaults.conf"
    try:
        lines = defaults.read_text(errors="replace").splitlines()
    except OSError:
        return
    yield from (line for line in lines if line.lstrip().startswith("spark.driver."))
