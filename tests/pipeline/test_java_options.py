"""What a user tells Java stays, and ours beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rmq_core.pipeline.java_options import COMPILERS, FIRST_COMPILER, with_ours

COLLECTOR = "-XX:+UseParallelGC"
OURS = f"{COMPILERS} {COLLECTOR}"
OF_SPARK = "-XX:+IgnoreUnrecognizedVMOptions"
SAYS = (
    *("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"),
    *("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "SPARK_CONF_DIR", "SPARK_MASTER", "SPARK_REMOTE"),
)
LOOK = """
import sys
from rmq_core.pipeline.session import open_session
session = open_session("look", log=sys.argv[1], brief=bool(sys.argv[2:]))
java = session.sparkContext._jvm.java
told = java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
told = [each for each in told if each.startswith("-XX:") and ".classes" not in each]
print(java.lang.System.getProperty("of.the.user"), *told)
session.stop()
"""


@pytest.fixture(autouse=True)
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in SAYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path / "spark-defaults.conf"


@pytest.mark.parametrize("name", [name for name in SAYS if "OPT" in name or "ARGS" in name])
def test_java_is_told_of_one_collector(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert with_ours("-Da=1") == f"{OURS} -Da=1"
    monkeypatch.setenv(name, "-Dx=1 -XX:+UseCompressedOops")
    assert with_ours() == OURS
    monkeypatch.setenv(name, "-Dx=1 -XX:+UseZGC")
    assert with_ours("-Da=1") == f"{COMPILERS} -Da=1"
    assert with_ours("-Da=1", brief=True) == f"{FIRST_COMPILER} -Da=1"


def test_also_in_a_file_and_in_settings(conf: Path) -> None:
    conf.write_text("# spark.driver.extraJavaOptions -XX:+UseG1GC\nspark.executor.extraJavaOptions -XX:+UseG1GC\n")
    assert with_ours() == OURS
    assert with_ours("", {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC"}) == COMPILERS
    conf.write_text("  spark.driver.extraJavaOptions=-XX:+UseG1GC\n")
    assert with_ours() == COMPILERS


def test_spark_starts_with_both(conf: Path, tmp_path: Path) -> None:
    conf.write_text("spark.driver.extraJavaOptions -Dof.the.user=stays\n")
    told = os.environ | {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC"}
    command = [sys.executable, "-c", LOOK, str(tmp_path / "log")]
    for environment, more, options in ((told, ["brief"], f"{FIRST_COMPILER} -XX:+UseSerialGC"), (None, [], OURS)):
        ran = subprocess.run([*command, *more], env=environment, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, ran.stderr[-4_000:]
        stays, *found = ran.stdout.split()
        assert (stays, {*found} - {OF_SPARK}) == ("stays", {*options.split()})
