"""What Java is told when Spark starts in this process, beside what its user tells it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
"""Before `spark.driver.extraJavaOptions`, which are the user's, wherever they come from."""

# Most of what Spark runs, it runs for a moment, and Java's second compiler takes a core for as long as it likes. At
# five times the usual numbers it still compiles whatever runs for each row. See docs/decisions/622.
COMPILERS = (
    "-XX:Tier4InvocationThreshold=25000 -XX:Tier4MinInvocationThreshold=3000 "
    "-XX:Tier4CompileThreshold=75000 -XX:Tier4BackEdgeThreshold=200000"
)
FIRST_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"""It alone, for what is soon done; and as much room for its work as both would have."""
# On two cores the collector that stops everything for a moment costs less than the one that works beside it.
_COLLECTOR = "-XX:+UseParallelGC"
_ANY_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
_OF_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_OF_SPARK = ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS")


def spark_home() -> Path:
    """Where the Spark is that starts in this process."""
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def with_ours(options: str = "", settings: Mapping[str, str] | None = None, *, brief: bool = False) -> str:
    """These options behind ours; our collector only where nobody asks for one: Java does not start with two.
    ``brief``: what is to be done is soon done."""
    asked = any(_ANY_COLLECTOR.search(said) for said in _said(settings or {}))
    several = (FIRST_COMPILER if brief else COMPILERS, "" if asked else _COLLECTOR, options)
    return " ".join(filter(None, several))


def _said(settings: Mapping[str, str]) -> Iterator[str]:
    yield from settings.values()
    yield from (os.environ.get(name, "") for name in (*_OF_JAVA, *_OF_SPARK))
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf") / "spark-defaults.conf"
    try:
        lines = defaults.read_text(errors="replace").splitlines()
    except OSError:
        return
    yield from (line for line in lines if line.lstrip().startswith("spark.driver."))
